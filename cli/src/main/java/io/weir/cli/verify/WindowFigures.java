// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.cli.records.CallLine;
import io.weir.topics.model.UsageCount;

/** The figures of one row, or of one key and window, from one source. Mutable; not thread-safe. */
final class WindowFigures {
  long quantity;
  long allowed;
  long denied;
  long failOpen;
  long digest;
  long firstOffset = Long.MAX_VALUE;
  long lastOffset = -1;
  long policiesVersion;
  long duplicates;
  long late;

  /** Whether a settlement was subtracted. Offsets and policies version are then only bounds. */
  private boolean isReduced;

  void add(UsageCount count) {
    quantity = Math.addExact(quantity, count.quantity());
    allowed += count.callsAllowed();
    denied += count.callsDenied();
    failOpen += count.callsFailOpen();
    digest += count.eventsDigest();
    firstOffset = Math.min(firstOffset, count.firstOffset());
    lastOffset = Math.max(lastOffset, count.lastOffset());
    policiesVersion = Math.max(policiesVersion, count.policiesVersion());
    duplicates += count.duplicatesDropped();
    late += count.lateCount();
  }

  void add(CallLine line, long offset, long lineDigest) {
    quantity += line.units();
    digest += lineDigest;
    firstOffset = Math.min(firstOffset, offset);
    lastOffset = Math.max(lastOffset, offset);
    policiesVersion = Math.max(policiesVersion, line.policiesVersion);
    if (line.isSettlement()) {
      return;
    }
    if (line.allowed) {
      allowed++;
      failOpen += line.isWithoutCache() ? 1 : 0;
    } else {
      denied++;
    }
  }

  /** Adds a settlement that was subtracted from another row. */
  void add(Settlements.Settlement settlement) {
    quantity += settlement.units();
    digest += settlement.digest();
    isReduced = true;
  }

  void subtract(Settlements.Settlement settlement) {
    quantity -= settlement.units();
    digest -= settlement.digest();
    isReduced = true;
  }

  /**
   * Returns whether the counts of calls are equal. Dropped duplicates and late calls are not
   * compared.
   */
  boolean agreesWith(WindowFigures other) {
    return quantity == other.quantity
        && allowed == other.allowed
        && denied == other.denied
        && failOpen == other.failOpen
        && digest == other.digest
        && (isReduced
            || other.isReduced
            || (firstOffset == other.firstOffset
                && lastOffset == other.lastOffset
                && policiesVersion == other.policiesVersion));
  }

  boolean equalsFully(WindowFigures other) {
    return agreesWith(other) && duplicates == other.duplicates && late == other.late;
  }

  boolean isReduced() {
    return isReduced;
  }

  boolean hasAny() {
    return lastOffset >= 0;
  }

  boolean isNothing() {
    return agreesWith(new WindowFigures());
  }

  @Override
  public String toString() {
    if (isNothing()) {
      return "nothing";
    }
    return "quantity %d, allowed %d, denied %d, fail-open %d, digest %016x, offsets %d to %d, policies version %d"
        .formatted(
            quantity, allowed, denied, failOpen, digest, firstOffset, lastOffset, policiesVersion);
  }
}
