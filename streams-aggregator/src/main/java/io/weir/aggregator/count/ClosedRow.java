// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.state.Packer;
import io.weir.aggregator.state.Unpacker;
import io.weir.limits.BillingPeriod;
import io.weir.topics.model.UsageCount;
import org.jspecify.annotations.Nullable;

/**
 * The state of one row of a closed window. It is kept while the row can be adjusted.
 *
 * @param revision revision of the newest ledger record
 * @param total sum of all ledger records of the row
 * @param ownPeriod the row's billing period; null if it is the month in UTC
 */
record ClosedRow(long revision, UsageCount total, @Nullable BillingPeriod ownPeriod) {
  /** Version of a row whose billing period is the month in UTC. */
  private static final int VERSION = 1;

  /**
   * Version of a row whose figures are followed by a billing period of the client's own calendar.
   */
  private static final int VERSION_WITH_PERIOD = 2;

  byte[] toBytes() {
    Packer value =
        new Packer().integer(ownPeriod == null ? VERSION : VERSION_WITH_PERIOD).integer(revision);
    UsageTally.of(total).pack(value);
    if (ownPeriod != null) {
      PackedPeriod.pack(ownPeriod, value);
    }
    return value.toBytes();
  }

  static ClosedRow ofBytes(byte[] bytes) {
    Unpacker value = Unpacker.ofVersions(bytes, VERSION, VERSION_WITH_PERIOD);
    return new ClosedRow(
        value.integer(),
        UsageTally.unpack(value).toCount(),
        value.version() == VERSION ? null : PackedPeriod.unpack(value));
  }
}
