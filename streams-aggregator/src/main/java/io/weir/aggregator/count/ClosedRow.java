// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.state.Packer;
import io.weir.aggregator.state.Unpacker;
import io.weir.limits.BillingPeriod;
import io.weir.topics.model.UsageCount;
import org.jspecify.annotations.Nullable;

/**
 * The state of one row of the ledger, kept for as long as adjustments of it may come.
 *
 * @param revision revision of its last row
 * @param total the sum of its rows
 * @param ownPeriod the billing period of all of them; null for the month of UTC
 */
record ClosedRow(long revision, UsageCount total, @Nullable BillingPeriod ownPeriod) {
  /** A row whose billing period is the month of UTC. */
  private static final int VERSION = 1;

  /** A row with a billing period of the client's own calendar behind its figures. */
  private static final int VERSION_WITH_PERIOD = 2;

  byte[] toBytes() {
    Packer value =
        new Packer().integer(ownPeriod == null ? VERSION : VERSION_WITH_PERIOD).integer(revision);
    Tally.of(total).pack(value);
    if (ownPeriod != null) {
      PackedPeriod.pack(ownPeriod, value);
    }
    return value.toBytes();
  }

  static ClosedRow ofBytes(byte[] bytes) {
    Unpacker value = Unpacker.ofVersions(bytes, VERSION, VERSION_WITH_PERIOD);
    return new ClosedRow(
        value.integer(),
        Tally.unpack(value).toCount(),
        value.version() == VERSION ? null : PackedPeriod.unpack(value));
  }
}
