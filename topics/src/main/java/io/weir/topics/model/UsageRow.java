// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.BillingPeriod;
import org.jspecify.annotations.Nullable;

/**
 * A FINAL or ADJUSTMENT row of one key and window. Immutable.
 *
 * @param key the key
 * @param window the window
 * @param type FINAL for the one row that is written when the window closes; ADJUSTMENT for every
 *     later row
 * @param revision number of the row among the rows of this key and window, from 1
 * @param previousRecordId id of the previous row; null on the first row
 * @param reason the reason of an adjustment; null on a FINAL row
 * @param count for FINAL the totals; for ADJUSTMENT the signed difference
 * @param quantityTotal cumulative quantity including this row
 * @param inputPartition partition of the calls topic
 * @param closedThroughEpochMillis exclusive end of the last window of the partition that was
 *     closed, or was being closed, when the aggregator wrote the row
 * @param complete false if the window was closed without waiting for a node that was silent for
 *     longer than the hold
 * @param emittedAtEpochMillis when the row was created, by the aggregator's clock
 * @param ownPeriod the billing period; null for the UTC month in which the window starts
 */
public record UsageRow(
    UsageKey key,
    UsageWindow window,
    Type type,
    long revision,
    @Nullable String previousRecordId,
    @Nullable Reason reason,
    UsageCount count,
    long quantityTotal,
    int inputPartition,
    long closedThroughEpochMillis,
    boolean complete,
    long emittedAtEpochMillis,
    @Nullable BillingPeriod ownPeriod)
    implements LedgerRow {

  /** The kinds of usage rows. */
  public enum Type {
    FINAL,
    ADJUSTMENT
  }

  /** The reasons for an ADJUSTMENT. */
  public enum Reason {
    LATE,
    VOID,
    SETTLE,
    RECOUNT
  }

  public UsageRow {
    if (revision < 1) {
      throw new IllegalArgumentException("revision must be at least 1, but is " + revision);
    }
    if ((type == Type.FINAL) != (reason == null)) {
      throw new IllegalArgumentException(
          "a reason is required for ADJUSTMENT and not allowed for FINAL: type "
              + type
              + ", reason "
              + reason);
    }
    if ((revision == 1) != (previousRecordId == null)) {
      throw new IllegalArgumentException(
          "previous_record_id is required from revision 2 on and not allowed before: revision "
              + revision
              + ", previous_record_id "
              + previousRecordId);
    }
  }

  /** Creates a row for a client that is billed by UTC months. */
  public UsageRow(
      UsageKey key,
      UsageWindow window,
      Type type,
      long revision,
      @Nullable String previousRecordId,
      @Nullable Reason reason,
      UsageCount count,
      long quantityTotal,
      int inputPartition,
      long closedThroughEpochMillis,
      boolean complete,
      long emittedAtEpochMillis) {
    this(
        key,
        window,
        type,
        revision,
        previousRecordId,
        reason,
        count,
        quantityTotal,
        inputPartition,
        closedThroughEpochMillis,
        complete,
        emittedAtEpochMillis,
        null);
  }

  /** Returns the billing period to which the window belongs. */
  public BillingPeriod billingPeriod() {
    return ownPeriod == null ? BillingPeriod.utcMonthHolding(window.startEpochMillis()) : ownPeriod;
  }

  @Override
  public String recordId() {
    return recordId(key, window, revision);
  }

  /**
   * Returns the record id of a revision of a key and window. For the key of the others, the natural
   * key has an empty endpoint, because a caller's endpoint is never empty.
   */
  public static String recordId(UsageKey key, UsageWindow window, long revision) {
    return RecordId.of(
        key.client(),
        key.meter(),
        key.others() ? "" : key.endpoint(),
        Long.toString(window.startEpochMillis()),
        Long.toString(window.endEpochMillis()),
        Long.toString(revision));
  }

  @Override
  public UsageRow emittedAt(long epochMillis) {
    return new UsageRow(
        key,
        window,
        type,
        revision,
        previousRecordId,
        reason,
        count,
        quantityTotal,
        inputPartition,
        closedThroughEpochMillis,
        complete,
        epochMillis,
        ownPeriod);
  }
}
