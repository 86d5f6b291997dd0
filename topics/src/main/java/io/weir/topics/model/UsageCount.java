// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

/**
 * The count of a set of events of one key and window. {@link #plus} adds the counts of two sets
 * without common events. Immutable.
 *
 * @param quantity sum of the costs of allowed calls; a settled call counts with its actual cost.
 *     The quantity may be negative in an adjustment, or if a settlement was counted before its call
 * @param callsAllowed number of allowed calls
 * @param callsDenied number of denied calls
 * @param callsFailOpen number of allowed calls that were decided without the cache
 * @param duplicatesDropped number of calls that were not counted because their id had been counted
 *     before
 * @param lateCount number of calls that arrived after the window had closed
 * @param eventCount number of distinct calls: allowed + denied, without settlements
 * @param firstOffset smallest offset of a counted event in the calls topic; {@link Long#MAX_VALUE}
 *     without events
 * @param lastOffset greatest offset of a counted event in the calls topic; −1 without events
 * @param eventsDigest sum of the digests of calls and settlements, modulo 2^64; see {@link
 *     CallEvent#digest}
 * @param policiesVersion greatest version of the policies in the events
 */
public record UsageCount(
    long quantity,
    long callsAllowed,
    long callsDenied,
    long callsFailOpen,
    long duplicatesDropped,
    long lateCount,
    long eventCount,
    long firstOffset,
    long lastOffset,
    long eventsDigest,
    long policiesVersion) {

  /** The count of an empty set of events. */
  public static final UsageCount ZERO =
      new UsageCount(0, 0, 0, 0, 0, 0, 0, Long.MAX_VALUE, -1, 0, 0);

  public UsageCount {
    if (callsAllowed < 0
        || callsDenied < 0
        || callsFailOpen < 0
        || callsFailOpen > callsAllowed
        || duplicatesDropped < 0
        || lateCount < 0
        || eventCount != callsAllowed + callsDenied) {
      throw new IllegalArgumentException(
          "counts must be at least 0, events must be allowed + denied, and fail_open must be at most allowed, but the count is allowed="
              + callsAllowed
              + " denied="
              + callsDenied
              + " fail_open="
              + callsFailOpen
              + " duplicates="
              + duplicatesDropped
              + " late="
              + lateCount
              + " events="
              + eventCount);
    }
  }

  /**
   * Returns the sum of this count and the count of other events.
   *
   * @throws ArithmeticException if the quantity overflows an int64
   */
  public UsageCount plus(UsageCount other) {
    return new UsageCount(
        Math.addExact(quantity, other.quantity),
        Math.addExact(callsAllowed, other.callsAllowed),
        Math.addExact(callsDenied, other.callsDenied),
        Math.addExact(callsFailOpen, other.callsFailOpen),
        Math.addExact(duplicatesDropped, other.duplicatesDropped),
        Math.addExact(lateCount, other.lateCount),
        Math.addExact(eventCount, other.eventCount),
        Math.min(firstOffset, other.firstOffset),
        Math.max(lastOffset, other.lastOffset),
        eventsDigest + other.eventsDigest,
        Math.max(policiesVersion, other.policiesVersion));
  }
}
