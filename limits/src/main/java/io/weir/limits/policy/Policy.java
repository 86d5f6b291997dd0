// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import io.weir.limits.LeakyBucket;
import io.weir.limits.Names;
import io.weir.limits.PolicyLimit;
import io.weir.limits.TokenBucketLimit;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A named limit. Immutable.
 *
 * @param name the policy's name, unique among policies
 * @param match the calls to which the policy applies
 * @param key the parts of a call by which buckets are separate; empty for one bucket for all calls
 * @param limit the bucket's size and rate, or the calendar quota
 * @param mode what the policy's verdict does
 * @param onCacheFailure what to do while the cache cannot answer
 * @param onColdCache what a quota does while the cache has lost its state; ALLOW for token buckets
 * @param debtCapTokens how far below zero a correction may take a bucket; 0 to 2^53 − 1
 * @param lease how nodes may take tokens of a token bucket in advance; null if they may not
 * @param ipPrefix which addresses share a bucket, if the key contains IP
 * @param replaces names of policies whose place this one takes for the calls to which it applies
 */
public record Policy(
    String name,
    PolicyMatch match,
    List<KeyPart> key,
    PolicyLimit limit,
    PolicyMode mode,
    FailureMode onCacheFailure,
    ColdCacheMode onColdCache,
    long debtCapTokens,
    @Nullable LeaseTerms lease,
    IpPrefix ipPrefix,
    List<String> replaces) {
  /** Most policies whose place one policy takes. */
  public static final int MAX_REPLACES = 100;

  public Policy {
    Names.require("name", name);
    replaces = List.copyOf(replaces);
    if (replaces.contains(name)) {
      throw new IllegalArgumentException("replaces must not name the policy itself");
    }
    if (replaces.size() > MAX_REPLACES) {
      throw new IllegalArgumentException(
          "replaces must name at most " + MAX_REPLACES + ", names " + replaces.size());
    }
    key = List.copyOf(key);
    if (key.stream().distinct().count() != key.size()) {
      throw new IllegalArgumentException("key must not repeat a part, is " + key);
    }
    if (key.contains(KeyPart.CLIENT) && key.contains(KeyPart.PLAN)) {
      throw new IllegalArgumentException("key must not have client and plan, is " + key);
    }
    if (onColdCache == ColdCacheMode.HOLD && limit.refills()) {
      throw new IllegalArgumentException("on_cold_cache: hold is for quotas and windows");
    }
    if ((onColdCache == ColdCacheMode.HOLD || lease != null) && !isRecorded(key, limit)) {
      throw new IllegalArgumentException(
          "on_cold_cache: hold and lease need buckets that records tell of, the key is "
              + key
              + ", the limit "
              + limit.describe());
    }
    if (debtCapTokens < 0 || debtCapTokens >= TokenBucketLimit.EXACT_BELOW) {
      throw new IllegalArgumentException(
          "debt_cap must be 0 to " + (TokenBucketLimit.EXACT_BELOW - 1) + ", is " + debtCapTokens);
    }
    if (lease != null && !limit.refills()) {
      throw new IllegalArgumentException("lease is for token buckets");
    }
    if (lease != null && queues(limit)) {
      throw new IllegalArgumentException("lease is not for a queue: it does not know the delay");
    }
    if (lease != null && lease.tokens() > limit.capacityTokens()) {
      throw new IllegalArgumentException(
          "lease of " + lease.tokens() + " tokens is above the capacity");
    }
  }

  /** Creates a policy that takes the place of no other. */
  public Policy(
      String name,
      PolicyMatch match,
      List<KeyPart> key,
      PolicyLimit limit,
      PolicyMode mode,
      FailureMode onCacheFailure,
      ColdCacheMode onColdCache,
      long debtCapTokens,
      @Nullable LeaseTerms lease,
      IpPrefix ipPrefix) {
    this(
        name,
        match,
        key,
        limit,
        mode,
        onCacheFailure,
        onColdCache,
        debtCapTokens,
        lease,
        ipPrefix,
        List.of());
  }

  /** Creates a policy by which each address that its key tells apart is a caller. */
  public Policy(
      String name,
      PolicyMatch match,
      List<KeyPart> key,
      PolicyLimit limit,
      PolicyMode mode,
      FailureMode onCacheFailure,
      ColdCacheMode onColdCache,
      long debtCapTokens,
      @Nullable LeaseTerms lease) {
    this(
        name,
        match,
        key,
        limit,
        mode,
        onCacheFailure,
        onColdCache,
        debtCapTokens,
        lease,
        IpPrefix.OF_CALLERS);
  }

  /** Creates a policy without leases. */
  public Policy(
      String name,
      PolicyMatch match,
      List<KeyPart> key,
      PolicyLimit limit,
      PolicyMode mode,
      FailureMode onCacheFailure,
      ColdCacheMode onColdCache,
      long debtCapTokens) {
    this(name, match, key, limit, mode, onCacheFailure, onColdCache, debtCapTokens, null);
  }

  /** Creates a policy with the defaults: a cold cache is allowed, the debt cap is one capacity. */
  public Policy(
      String name,
      PolicyMatch match,
      List<KeyPart> key,
      PolicyLimit limit,
      PolicyMode mode,
      FailureMode onCacheFailure) {
    this(
        name, match, key, limit, mode, onCacheFailure, ColdCacheMode.ALLOW, limit.capacityTokens());
  }

  /** Returns the same policy in another mode. */
  public Policy inMode(PolicyMode other) {
    return new Policy(
        name,
        match,
        key,
        limit,
        other,
        onCacheFailure,
        onColdCache,
        debtCapTokens,
        lease,
        ipPrefix,
        replaces);
  }

  /**
   * Returns the same policy with buckets that all clients share: without the client in its key, and
   * without what needs a bucket of which records tell.
   */
  public Policy shared() {
    return new Policy(
        name,
        match,
        key.stream().filter(part -> part != KeyPart.CLIENT).toList(),
        limit,
        mode,
        onCacheFailure,
        ColdCacheMode.ALLOW,
        debtCapTokens,
        null,
        ipPrefix,
        replaces);
  }

  /**
   * Returns the same policy with another limit. A debt cap of one capacity becomes one of the other
   * capacity, and a lease that does not fit is left out.
   *
   * @throws IllegalArgumentException if the policy cannot have such a limit, or its buckets are not
   *     of one client
   */
  public Policy withLimit(PolicyLimit other) {
    if (!isOfOneClient()) {
      throw new IllegalArgumentException("its buckets are not of one client");
    }
    long cap = debtCapTokens == limit.capacityTokens() ? other.capacityTokens() : debtCapTokens;
    boolean fits =
        lease != null
            && other.refills()
            && !queues(other)
            && lease.tokens() <= other.capacityTokens();
    return new Policy(
        name,
        match,
        key,
        other,
        mode,
        onCacheFailure,
        onColdCache,
        cap,
        fits ? lease : null,
        ipPrefix,
        replaces);
  }

  /**
   * Returns whether records tell what is taken from the policy's buckets, so that they are audited,
   * corrected, and restored after a loss of the cache. That is so if each bucket belongs to one
   * client, whose records are all in one partition, its key holds no address, which records do not
   * name, and its limit is one of which they tell.
   */
  public boolean isRecorded() {
    return isRecorded(key, limit);
  }

  /** Returns whether each bucket belongs to one client. */
  public boolean isOfOneClient() {
    return key.contains(KeyPart.CLIENT);
  }

  /** Returns whether calls that the policy admits are told how long to wait. */
  public boolean queues() {
    return queues(limit);
  }

  private static boolean queues(PolicyLimit limit) {
    return limit instanceof LeakyBucket bucket && bucket.isQueue();
  }

  private static boolean isRecorded(List<KeyPart> key, PolicyLimit limit) {
    return limit.isRecordable() && key.contains(KeyPart.CLIENT) && !key.contains(KeyPart.IP);
  }

  /** Returns whether every matching call is refused, whatever the cache contains. */
  public boolean denies() {
    return mode == PolicyMode.ENFORCE && limit.capacityTokens() == 0;
  }
}
