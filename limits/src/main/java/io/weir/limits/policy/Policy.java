// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import io.weir.limits.Names;
import io.weir.limits.PolicyLimit;
import io.weir.limits.TokenBucketLimit;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A named rule that matches calls and limits them. Immutable.
 *
 * @param name the policy's name, unique among policies
 * @param match the calls to which the policy applies
 * @param key the parts of a call that determine the call's bucket; empty if all calls share one
 *     bucket
 * @param limit the limit of the policy's buckets
 * @param mode the effect of the policy on a call
 * @param onCacheFailure the behaviour while the cache is unavailable
 * @param onColdCache the behaviour of a quota while the cache is not restored; ALLOW for token
 *     buckets
 * @param debtCapTokens maximum debt that a correction may cause; 0 to 2^53 − 1
 * @param lease terms on which nodes take tokens of a token bucket in advance; null if they must not
 *     take tokens in advance
 * @param ipPrefix length of the prefix whose addresses share a bucket; used if the key contains IP
 * @param replaces names of the policies that this policy replaces for matching calls
 */
public record Policy(
    String name,
    PolicyMatch match,
    List<KeyPart> key,
    PolicyLimit limit,
    PolicyMode mode,
    CacheFailureMode onCacheFailure,
    ColdCacheMode onColdCache,
    long debtCapTokens,
    @Nullable LeaseTerms lease,
    IpPrefix ipPrefix,
    List<String> replaces) {
  /** Maximum number of policies that one policy replaces. */
  public static final int MAX_REPLACES = 100;

  public Policy {
    Names.require("name", name);
    replaces = List.copyOf(replaces);
    if (replaces.contains(name)) {
      throw new IllegalArgumentException("replaces must not name the policy itself");
    }
    if (replaces.size() > MAX_REPLACES) {
      throw new IllegalArgumentException(
          "replaces must name at most " + MAX_REPLACES + " policies, but names " + replaces.size());
    }
    key = List.copyOf(key);
    if (key.stream().distinct().count() != key.size()) {
      throw new IllegalArgumentException("key must not repeat a part, but is " + key);
    }
    if (key.contains(KeyPart.CLIENT) && key.contains(KeyPart.PLAN)) {
      throw new IllegalArgumentException("key must not have client and plan, but is " + key);
    }
    if (onColdCache == ColdCacheMode.HOLD && limit.refills()) {
      throw new IllegalArgumentException(
          "on_cold_cache: hold is allowed only for quotas and windows");
    }
    if ((onColdCache == ColdCacheMode.HOLD || lease != null) && !isRecorded(key, limit)) {
      throw new IllegalArgumentException(
          "'lease' and 'on_cold_cache: hold' need a recorded bucket, but the key is "
              + key
              + " and the limit is "
              + limit.describe());
    }
    if (debtCapTokens < 0 || debtCapTokens >= TokenBucketLimit.EXACT_BELOW) {
      throw new IllegalArgumentException(
          "debt_cap must be 0 to %s, but is %s"
              .formatted(TokenBucketLimit.EXACT_BELOW - 1, debtCapTokens));
    }
    if (lease != null && !limit.refills()) {
      throw new IllegalArgumentException("lease is allowed only for token buckets");
    }
    if (lease != null && limit.isQueue()) {
      throw new IllegalArgumentException(
          "lease is not allowed for a queue: a node cannot compute the delays");
    }
    if (lease != null && lease.tokens() > limit.capacityTokens()) {
      throw new IllegalArgumentException(
          "lease tokens must be at most the capacity, but are " + lease.tokens());
    }
  }

  /**
   * Creates a policy with the defaults: {@link ColdCacheMode#ALLOW}, and a debt cap equal to the
   * capacity.
   */
  public Policy(
      String name,
      PolicyMatch match,
      List<KeyPart> key,
      PolicyLimit limit,
      PolicyMode mode,
      CacheFailureMode onCacheFailure) {
    this(
        name,
        match,
        key,
        limit,
        mode,
        onCacheFailure,
        ColdCacheMode.ALLOW,
        limit.capacityTokens(),
        null,
        IpPrefix.OF_CALLERS,
        List.of());
  }

  /** Returns a builder with the values of this policy. */
  public Builder toBuilder() {
    return new Builder(this);
  }

  /** Returns the same policy in another mode. */
  public Policy inMode(PolicyMode other) {
    return toBuilder().mode(other).build();
  }

  /**
   * Returns this policy with buckets that all clients share. The result has no client in its key,
   * and no settings that require recorded buckets.
   */
  public Policy shared() {
    return toBuilder()
        .key(key.stream().filter(part -> part != KeyPart.CLIENT).toList())
        .onColdCache(ColdCacheMode.ALLOW)
        .lease(null)
        .build();
  }

  /**
   * Returns this policy with another limit. If the debt cap equals the capacity, the debt cap
   * becomes the new capacity. The result has no lease if the new limit does not allow a lease.
   *
   * @throws IllegalArgumentException if the limit is not valid for this policy, or clients share
   *     the policy's buckets
   */
  public Policy withLimit(PolicyLimit other) {
    if (!isOfOneClient()) {
      throw new IllegalArgumentException("clients share the buckets of the policy");
    }
    long cap = debtCapTokens == limit.capacityTokens() ? other.capacityTokens() : debtCapTokens;
    boolean fits =
        lease != null
            && other.refills()
            && !other.isQueue()
            && lease.tokens() <= other.capacityTokens();
    return toBuilder().limit(other).debtCapTokens(cap).lease(fits ? lease : null).build();
  }

  /**
   * Returns whether charges of the policy's buckets are recorded. Recorded buckets are audited,
   * corrected, and restored after the cache has lost them. Weir records charges under three
   * conditions. Each bucket belongs to one client, so that all records of the bucket are in one
   * partition. The key contains no address, because records contain no address. The limit is
   * {@linkplain PolicyLimit#isRecordable recordable}.
   */
  public boolean isRecorded() {
    return isRecorded(key, limit);
  }

  /** Returns whether each bucket belongs to one client. */
  public boolean isOfOneClient() {
    return key.contains(KeyPart.CLIENT);
  }

  /** Returns whether admitted calls receive a delay. */
  public boolean queues() {
    return limit.isQueue();
  }

  private static boolean isRecorded(List<KeyPart> key, PolicyLimit limit) {
    return limit.isRecordable() && key.contains(KeyPart.CLIENT) && !key.contains(KeyPart.IP);
  }

  /** Returns whether the policy denies every matching call, whatever the cache contains. */
  public boolean denies() {
    return mode == PolicyMode.ENFORCE && limit.capacityTokens() == 0;
  }

  /** Builder that begins with the values of another policy. Not thread-safe. */
  public static final class Builder {
    private final String name;
    private final CacheFailureMode onCacheFailure;
    private PolicyMatch match;
    private List<KeyPart> key;
    private PolicyLimit limit;
    private PolicyMode mode;
    private ColdCacheMode onColdCache;
    private long debtCapTokens;
    private @Nullable LeaseTerms lease;
    private IpPrefix ipPrefix;
    private List<String> replaces;

    private Builder(Policy policy) {
      name = policy.name;
      onCacheFailure = policy.onCacheFailure;
      match = policy.match;
      key = policy.key;
      limit = policy.limit;
      mode = policy.mode;
      onColdCache = policy.onColdCache;
      debtCapTokens = policy.debtCapTokens;
      lease = policy.lease;
      ipPrefix = policy.ipPrefix;
      replaces = policy.replaces;
    }

    public Builder match(PolicyMatch value) {
      match = value;
      return this;
    }

    public Builder key(List<KeyPart> value) {
      key = value;
      return this;
    }

    public Builder limit(PolicyLimit value) {
      limit = value;
      return this;
    }

    public Builder mode(PolicyMode value) {
      mode = value;
      return this;
    }

    public Builder onColdCache(ColdCacheMode value) {
      onColdCache = value;
      return this;
    }

    public Builder debtCapTokens(long value) {
      debtCapTokens = value;
      return this;
    }

    public Builder lease(@Nullable LeaseTerms value) {
      lease = value;
      return this;
    }

    public Builder ipPrefix(IpPrefix value) {
      ipPrefix = value;
      return this;
    }

    public Builder replaces(List<String> value) {
      replaces = value;
      return this;
    }

    /**
     * Returns the policy.
     *
     * @throws IllegalArgumentException if the values contradict each other
     */
    public Policy build() {
      return new Policy(
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
          replaces);
    }
  }
}
