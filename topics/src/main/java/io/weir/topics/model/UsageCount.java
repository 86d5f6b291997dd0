// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

/**
 * The count of one key and window. Counts of disjoint sets of events are added with {@link #plus}.
 * Immutable.
 *
 * @param quantity sum of the cost of allowed calls, settled calls at their actual cost; negative in
 *     an adjustment's difference, or if a settlement was counted before its call
 * @param callsAllowed allowed calls
 * @param callsDenied denied calls
 * @param callsFailOpen those of {@code callsAllowed} that were decided without the cache
 * @param duplicatesDropped calls not counted because their id had been counted before
 * @param lateCount calls that arrived after the window closed
 * @param eventCount distinct calls: allowed + denied; settlements are not included
 * @param firstOffset smallest offset of the calls topic that contributed; {@link Long#MAX_VALUE} if
 *     none did
 * @param lastOffset greatest offset that contributed; −1 if none did
 * @param eventsDigest sum of the digests of calls and settlements modulo 2^64, see {@link
 *     CallEvent#digest}
 * @param policiesVersion greatest policies version seen
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

  /** The count of no events. */
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
          "inconsistent count: allowed="
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
   * @throws ArithmeticException if the quantity leaves the range of int64: an error is better than
   *     a wrong bill
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
