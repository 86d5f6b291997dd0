// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.BilledIn;
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
 * The event that a call was decided. The event is the audit line of the decision and the basis of
 * bills. An event with a settlement states later that the call has another actual cost; all other
 * members equal the members of the call. Immutable.
 *
 * @param id identifier of the call, unique for the client and equal for every retry. An event with
 *     the same id and another endpoint, meter or cost is another call
 * @param idFromCaller whether the caller chose the id, so that a retry can repeat the id. Only a
 *     replayed batch can repeat an id that the server generated. False if the member {@code
 *     id_from_caller} is absent on the wire
 * @param client the calling client
 * @param endpoint the called endpoint
 * @param meter name of the meter that counts the call
 * @param cost number of tokens that the call requests, and of units that Weir bills if the call is
 *     allowed; 1 to {@link #MAX_QUANTITY}
 * @param allowed whether the call was admitted; only allowed calls are billed
 * @param decidedBy the component that decided the call
 * @param policy the policy that denied the call, or the policy that is nearest to its limit; null
 *     if no policy matched
 * @param policiesVersion version of the policies at the decision; 0 if there were no policies
 * @param decidedAtEpochMillis when the call was decided, by the decision cache's clock
 * @param ipPrefix prefix of the caller's network; null if unknown
 * @param charges the charged buckets; empty if the call was denied or not decided by the cache. For
 *     a settlement, the charges of the call, without stamps
 * @param settlement the settlement; null if the event is the call itself. Only an allowed call can
 *     be settled
 * @param billing the client's billing period; null if the client is billed by UTC months
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
    @Nullable CallSettlement settlement,
    @Nullable BilledIn billing) {

  private static final int FINGERPRINT_BYTES = 16;

  /** The meter of a call that does not specify a meter. */
  public static final String DEFAULT_METER = PolicyMatch.METER_OF_CALLS;

  /** The endpoint of a call that does not specify an endpoint. */
  public static final String DEFAULT_ENDPOINT = "-";

  /**
   * Maximum cost of a call, and maximum quantity of a key and window: 2^53 − 1. Every JSON reader
   * represents integers up to this value exactly (RFC 8259 §6), and no caller can make a sum
   * overflow.
   */
  public static final long MAX_QUANTITY = Numbers.MAX;

  /** Maximum time of a call in epoch milliseconds, in the year 2255. */
  public static final long MAX_EPOCH_MILLIS = Numbers.MAX_EPOCH_MILLIS;

  public CallEvent {
    Names.require("id", id);
    Names.require("client", client);
    Names.require("endpoint", endpoint);
    Names.require("meter", meter);
    if (cost < 1 || cost > MAX_QUANTITY) {
      throw new IllegalArgumentException(
          "cost must be between 1 and " + MAX_QUANTITY + ", but is " + cost);
    }
    Numbers.require("policies_version", policiesVersion, 0);
    Numbers.require("decided_at_ms", decidedAtEpochMillis, 0, Numbers.MAX_EPOCH_MILLIS);
    if (settlement != null && !allowed) {
      throw new IllegalArgumentException("a denied call cannot be settled");
    }
    if (billing != null) {
      billing.require(decidedAtEpochMillis);
    }
    charges = List.copyOf(charges);
  }

  /** Creates the event of a call whose client is billed by UTC months. */
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
        null,
        null);
  }

  /** Returns this event for a client that is billed by its own calendar. */
  public CallEvent billedIn(BilledIn periods) {
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
        charges,
        settlement,
        periods);
  }

  /**
   * Returns the settlement of this call. The charges of the settlement have no stamps, because the
   * node does not query the cache.
   *
   * @throws IllegalArgumentException if the call was denied
   */
  public CallEvent settledAt(CallSettlement how) {
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
        how,
        billing);
  }

  /**
   * Returns the number of units that this event adds to the bill. An allowed call adds its cost,
   * and a denied call adds 0. A settlement adds the signed difference between the actual cost and
   * the call's cost.
   */
  public long quantity() {
    if (settlement != null) {
      return settlement.actualCost() - cost;
    }
    return allowed ? cost : 0;
  }

  /** Returns the time of this event: the time of the settlement, or of the decision. */
  public long happenedAtEpochMillis() {
    return settlement != null ? settlement.settledAtEpochMillis() : decidedAtEpochMillis;
  }

  /**
   * Returns a fingerprint of the endpoint, the meter and the cost: the first 128 bits of their
   * SHA-256 (FIPS 180-4), in Base64. The fingerprint distinguishes different calls with the same
   * id; all retries of a call have the same fingerprint. The fingerprint is long enough that a
   * caller cannot find two endpoints with the same fingerprint.
   */
  public String fingerprint() {
    MessageDigest sha256;
    try {
      sha256 = MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException("this Java platform does not provide SHA-256", impossible);
    }
    // a line feed separates the members, because names contain no line feed
    sha256.update((endpoint + '\n' + meter + '\n' + cost).getBytes(StandardCharsets.UTF_8));
    return Base64.getEncoder()
        .withoutPadding()
        .encodeToString(Arrays.copyOf(sha256.digest(), FINGERPRINT_BYTES));
  }
}
