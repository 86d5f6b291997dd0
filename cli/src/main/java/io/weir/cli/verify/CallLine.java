// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.topics.model.UsagePosition;
import io.weir.topics.model.UsageRow;
import org.jspecify.annotations.Nullable;

/**
 * The members of a line of {@code weir.calls.v1} that affect the bill.
 *
 * @param idFromCaller whether the caller chose the id
 * @param withoutCache whether the call was allowed without Redis
 * @param actualCost actual cost of a settlement; null if the line is the call itself
 * @param settledCall position of the call that a settlement settles; null if not stated
 * @param policiesVersion version of the policies that decided the call; 0 if there were none
 * @param billed the billing periods; null for the months of UTC
 */
record CallLine(
    String id,
    boolean idFromCaller,
    String client,
    String endpoint,
    String meter,
    long cost,
    boolean allowed,
    boolean withoutCache,
    long decidedAtEpochMillis,
    @Nullable Long actualCost,
    @Nullable UsagePosition settledCall,
    long policiesVersion,
    @Nullable Billed billed) {
  /** 2^53 − 1, the greatest number in a record and the greatest quantity. */
  static final long MAX_NUMBER = (1L << 53) - 1;

  private static final long FNV_OFFSET = 0xcbf29ce484222325L;
  private static final long FNV_PRIME = 0x100000001b3L;

  /** Returns the billing period of a window whose first line is this one. */
  String billingPeriodOfWindow(long windowStartEpochMillis) {
    return billed == null ? Billed.UTC_MONTH : billed.ofWindow(windowStartEpochMillis);
  }

  boolean isSettlement() {
    return actualCost != null;
  }

  /** Returns the reason of an adjustment that counts this line in a closed window. */
  UsageRow.Reason reason() {
    if (actualCost == null) {
      return UsageRow.Reason.LATE;
    }
    return actualCost == 0 ? UsageRow.Reason.VOID : UsageRow.Reason.SETTLE;
  }

  /** Returns the units that the line adds to the bill. */
  long units() {
    if (actualCost != null) {
      return actualCost - cost;
    }
    return allowed ? cost : 0;
  }

  /**
   * Returns the line's summand of {@code events_digest} in a batch with the header {@code digest}:
   * FNV-1a over its bytes, followed by SplitMix's mixer.
   */
  static long digest(byte[] value, int start, int length) {
    long hash = FNV_OFFSET;
    for (int i = start; i < start + length; i++) {
      hash = (hash ^ (value[i] & 0xff)) * FNV_PRIME;
    }
    return mixed(hash);
  }

  private static long mixed(long hash) {
    hash = (hash ^ (hash >>> 30)) * 0xbf58476d1ce4e5b9L;
    hash = (hash ^ (hash >>> 27)) * 0x94d049bb133111ebL;
    return hash ^ (hash >>> 31);
  }

  /**
   * Returns the line's summand in a batch of an older node: FNV-1a over the UTF-16 units of the id,
   * the signed cost and, for a settlement, the complement of the actual cost, followed by
   * SplitMix's mixer.
   */
  long digest() {
    long hash = FNV_OFFSET;
    for (int i = 0; i < id.length(); i++) {
      hash = (hash ^ id.charAt(i)) * FNV_PRIME;
    }
    hash = (hash ^ (allowed ? cost : -cost)) * FNV_PRIME;
    if (actualCost != null) {
      hash = (hash ^ ~actualCost) * FNV_PRIME;
    }
    return mixed(hash);
  }
}
