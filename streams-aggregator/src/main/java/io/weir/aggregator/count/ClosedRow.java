// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.state.Packer;
import io.weir.aggregator.state.Unpacker;
import io.weir.limits.BillingPeriod;
import io.weir.topics.model.UsageCount;
import org.jspecify.annotations.Nullable;

/**
 * The state of one row of a closed window. The counter keeps this state while the row can be
 * adjusted.
 *
 * @param revision revision of the newest ledger record
 * @param total sum of all ledger records of the row
 * @param ownPeriod the row's billing period; null if it is the month in UTC
 */
record ClosedRow(long revision, UsageCount total, @Nullable BillingPeriod ownPeriod) {
  byte[] toBytes() {
    Packer value = RowCodec.begin(new Packer(), ownPeriod).integer(revision);
    UsageTally.of(total).store(value.members());
    return RowCodec.end(value, ownPeriod);
  }

  static ClosedRow ofBytes(byte[] bytes) {
    Unpacker value = RowCodec.open(bytes);
    return new ClosedRow(
        value.integer(), UsageTally.unpack(value).toCount(), RowCodec.period(value));
  }
}
