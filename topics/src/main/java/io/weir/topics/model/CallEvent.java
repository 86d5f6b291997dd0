// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.Names;
import io.weir.limits.Numbers;
import io.weir.limits.policy.PolicyMatch;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One immutable fact: a call was decided. It is the decision's audit line and the source of the
 * bill at once. With a settlement it is the later fact that this call turned out to cost something
 * else: all other members repeat the call's.
 *
 * @param id names the call; unique for the client, the same on every retry of the call. Another
 *     endpoint, meter or cost under the same id is another call
 * @param idFromCaller true when the caller chose the id, so that retries may repeat it; false when
 *     the server minted it, so that only a replayed batch can repeat it. Absent on the wire means
 *     false
 * @param client who called
 * @param endpoint what was called
 * @param meter what is counted
 * @param cost tokens asked for and units billed when allowed, 1 to {@link #MAX_QUANTITY}
 * @param allowed whether the call was let through; only allowed calls are billed
 * @param decidedBy who answered
 * @param policy the policy that denied, or the one nearest to its limit; null when none matched
 * @param policiesVersion version of the policies that were in force; 0 when there were none
 * @param decidedAtEpochMillis when, by the decision cache's clock
 * @param ipPrefix the caller's network prefix, null when not given
 * @param charges the buckets charged; empty when denied or not decided by the cache. Of a
 *     settlement: the same buckets, without stamps
 * @param settlement null when this is the call itself; only an allowed call is settled
 */
public record CallEvent(
    String id,
    boolean idFromCaller,
    String client,
    String endpoint,
    String meter,
    long cost,
    boolean allowed,
    DecidedBy decidedBy,
    @Nullable String policy,
    long policiesVersion,
    long decidedAtEpochMillis,
    @Nullable String ipPrefix,
    List<Charge> charges,
    @Nullable Settlement settlement) {

  private static final long FNV_PRIME = 0x100000001b3L;
  private static final int FINGERPRINT_BYTES = 16;

  /** The meter of a call that names none. */
  public static final String DEFAULT_METER = PolicyMatch.METER_OF_CALLS;

  /** The endpoint of a call that names none. */
  public static final String DEFAULT_ENDPOINT = "-";

  /**
   * Largest cost of a call, and largest quantity of a key and window: 2^53 − 1. Up to here JSON
   * numbers are exact in every reader (RFC 8259 §6), and no caller can make a sum overflow.
   */
  public static final long MAX_QUANTITY = Numbers.MAX;

  /** Latest time of a call, in epoch milliseconds: in the year 2255. */
  public static final long MAX_EPOCH_MILLIS = Numbers.MAX_EPOCH_MILLIS;

  public CallEvent {
    Names.require("id", id);
    Names.require("client", client);
    Names.require("endpoint", endpoint);
    Names.require("meter", meter);
    if (cost < 1 || cost > MAX_QUANTITY) {
      throw new IllegalArgumentException(
          "cost must be at least 1 and at most " + MAX_QUANTITY + ", is " + cost);
    }
    Numbers.require("policies_version", policiesVersion, 0);
    Numbers.require("decided_at_ms", decidedAtEpochMillis, 0, Numbers.MAX_EPOCH_MILLIS);
    if (settlement != null && !allowed) {
      throw new IllegalArgumentException("a denied call has nothing to settle");
    }
    charges = List.copyOf(charges);
  }

  /** The call itself, not a settlement of it. */
  public CallEvent(
      String id,
      boolean idFromCaller,
      String client,
      String endpoint,
      String meter,
      long cost,
      boolean allowed,
      DecidedBy decidedBy,
      @Nullable String policy,
      long policiesVersion,
      long decidedAtEpochMillis,
      @Nullable String ipPrefix,
      List<Charge> charges) {
    this(
        id,
        idFromCaller,
        client,
        endpoint,
        meter,
        cost,
        allowed,
        decidedBy,
        policy,
        policiesVersion,
        decidedAtEpochMillis,
        ipPrefix,
        charges,
        null);
  }

  /**
   * The settlement of this call. Its charges have no stamps: the cache was not asked.
   *
   * @throws IllegalArgumentException when the call was denied
   */
  public CallEvent settledAt(Settlement how) {
    return new CallEvent(
        id,
        idFromCaller,
        client,
        endpoint,
        meter,
        cost,
        allowed,
        decidedBy,
        policy,
        policiesVersion,
        decidedAtEpochMillis,
        ipPrefix,
        charges.stream()
            .map(charge -> new Charge(charge.bucket(), charge.cost(), charge.limit(), null))
            .toList(),
        how);
  }

  /**
   * Units this fact adds to the bill: of a call its cost when allowed, else 0; of a settlement the
   * signed difference between the actual cost and the call's.
   */
  public long quantity() {
    if (settlement != null) {
      return settlement.actualCost() - cost;
    }
    return allowed ? cost : 0;
  }

  /** When this fact came about: the settlement's time, or the decision's. */
  public long happenedAtEpochMillis() {
    return settlement != null ? settlement.settledAtEpochMillis() : decidedAtEpochMillis;
  }

  /**
   * Tells this call from others under its id: a retry has the same endpoint, meter and cost. The
   * first 128 bits of SHA-256 (FIPS 180-4) over them, in Base64: whoever chooses the endpoint must
   * not be able to find two calls with one fingerprint.
   */
  public String fingerprint() {
    MessageDigest sha256;
    try {
      sha256 = MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException("every Java platform has SHA-256", impossible);
    }
    // no name holds a line feed
    sha256.update((endpoint + '\n' + meter + '\n' + cost).getBytes(StandardCharsets.UTF_8));
    return Base64.getEncoder()
        .withoutPadding()
        .encodeToString(Arrays.copyOf(sha256.digest(), FINGERPRINT_BYTES));
  }

  private static long fnv(long hash, String text) {
    for (int i = 0; i < text.length(); i++) {
      hash = (hash ^ text.charAt(i)) * FNV_PRIME;
    }
    return hash;
  }

  /**
   * This call's summand of {@code events_digest}. A row's digest is the sum, modulo 2^64, over its
   * distinct events, calls and settlements: independent of their order, different (but for chance)
   * when one is missing, doubled or altered. It finds accidents; it is no defence against a forger.
   *
   * <p>The summand is FNV-1a (64 bit, Fowler/Noll/Vo) over the UTF-16 units of the id and then the
   * signed cost (negative when denied), and of a settlement the bitwise complement of the actual
   * cost, finished with the 64-bit mixer of SplitMix (Steele, Lea, Flood, "Fast splittable
   * pseudorandom number generators", OOPSLA 2014).
   */
  public long digest() {
    long hash = fnv(0xcbf29ce484222325L, id);
    hash = (hash ^ (allowed ? cost : -cost)) * FNV_PRIME;
    if (settlement != null) {
      hash = (hash ^ ~settlement.actualCost()) * FNV_PRIME;
    }
    hash = (hash ^ (hash >>> 30)) * 0xbf58476d1ce4e5b9L;
    hash = (hash ^ (hash >>> 27)) * 0x94d049bb133111ebL;
    return hash ^ (hash >>> 31);
  }
}
