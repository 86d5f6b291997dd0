// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.state.Packer;
import io.weir.aggregator.state.Unpacker;
import io.weir.limits.BillingPeriod;

/**
 * The codec of a stored billing period of a client's own calendar. The period follows the figures
 * of a stored row.
 */
final class PackedPeriod {
  private PackedPeriod() {}

  static void pack(BillingPeriod period, Packer value) {
    value
        .text(period.name())
        .text(period.timeZone())
        .integer(period.startEpochMillis())
        .integer(period.endEpochMillis());
  }

  static BillingPeriod unpack(Unpacker value) {
    return BillingPeriod.own(value.text(), value.text(), value.integer(), value.integer());
  }
}
