// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.state.StoredMembers;
import io.weir.aggregator.state.Unpacker;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.UsageCount;

/**
 * A mutable form of {@link UsageCount}. A tally can count a batch without allocating objects. Not
 * thread-safe.
 *
 * <p>Methods throw {@link ArithmeticException} if the quantity would be outside int64, because a
 * missing bill is better than a wrong bill.
 */
final class UsageTally {
  private long quantity;
  private long callsAllowed;
  private long callsDenied;
  private long callsFailOpen;
  private long duplicatesDropped;
  private long lateCount;
  private long firstOffset = Long.MAX_VALUE;
  private long lastOffset = -1;
  private long eventsDigest;
  private long policiesVersion;

  static UsageTally of(UsageCount count) {
    UsageTally tally = new UsageTally();
    tally.quantity = count.quantity();
    tally.callsAllowed = count.callsAllowed();
    tally.callsDenied = count.callsDenied();
    tally.callsFailOpen = count.callsFailOpen();
    tally.duplicatesDropped = count.duplicatesDropped();
    tally.lateCount = count.lateCount();
    tally.firstOffset = count.firstOffset();
    tally.lastOffset = count.lastOffset();
    tally.eventsDigest = count.eventsDigest();
    tally.policiesVersion = count.policiesVersion();
    return tally;
  }

  long quantity() {
    return quantity;
  }

  /**
   * Returns whether the sum of a quantity and a difference is in range. All readers can represent
   * each quantity in range exactly.
   */
  static boolean isInRange(long quantity, long difference) {
    return Math.abs(quantity + difference) <= CallEvent.MAX_QUANTITY;
  }

  /**
   * Adds one call or settlement. A settlement does not change the numbers of calls, because its
   * call was counted before.
   */
  void add(CallEvent call, long offset, long digest) {
    quantity = Math.addExact(quantity, call.quantity());
    if (call.settlement() == null) {
      countCall(call);
    }
    firstOffset = Math.min(firstOffset, offset);
    lastOffset = Math.max(lastOffset, offset);
    eventsDigest += digest;
    policiesVersion = Math.max(policiesVersion, call.policiesVersion());
  }

  private void countCall(CallEvent call) {
    if (call.allowed()) {
      callsAllowed++;
      if (call.decidedBy().withoutCache()) {
        callsFailOpen++;
      }
    } else {
      callsDenied++;
    }
  }

  /** Adds another tally. */
  void add(UsageTally other) {
    quantity = Math.addExact(quantity, other.quantity);
    callsAllowed += other.callsAllowed;
    callsDenied += other.callsDenied;
    callsFailOpen += other.callsFailOpen;
    duplicatesDropped += other.duplicatesDropped;
    lateCount += other.lateCount;
    firstOffset = Math.min(firstOffset, other.firstOffset);
    lastOffset = Math.max(lastOffset, other.lastOffset);
    eventsDigest += other.eventsDigest;
    policiesVersion = Math.max(policiesVersion, other.policiesVersion);
  }

  void addDuplicate() {
    duplicatesDropped++;
  }

  /** Marks all calls of this tally as late. */
  void markLate() {
    lateCount = eventCount();
  }

  long eventCount() {
    return callsAllowed + callsDenied;
  }

  UsageCount toCount() {
    return new UsageCount(
        quantity,
        callsAllowed,
        callsDenied,
        callsFailOpen,
        duplicatesDropped,
        lateCount,
        eventCount(),
        firstOffset,
        lastOffset,
        eventsDigest,
        policiesVersion);
  }

  /** Writes or reads the figures. */
  void store(StoredMembers members) {
    quantity = members.integer(quantity);
    callsAllowed = members.integer(callsAllowed);
    callsDenied = members.integer(callsDenied);
    callsFailOpen = members.integer(callsFailOpen);
    duplicatesDropped = members.integer(duplicatesDropped);
    lateCount = members.integer(lateCount);
    firstOffset = members.integer(firstOffset);
    lastOffset = members.integer(lastOffset);
    eventsDigest = members.integer(eventsDigest);
    policiesVersion = members.integer(policiesVersion);
  }

  static UsageTally unpack(Unpacker value) {
    UsageTally tally = new UsageTally();
    tally.store(value.members());
    return tally;
  }
}
