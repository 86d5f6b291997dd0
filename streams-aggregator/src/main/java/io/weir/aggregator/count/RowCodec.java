// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.state.Packer;
import io.weir.aggregator.state.Unpacker;
import io.weir.limits.BillingPeriod;
import org.jspecify.annotations.Nullable;

/**
 * The parts that the stored forms of {@link OpenRow} and {@link ClosedRow} share: the version at
 * the beginning, and the billing period at the end. Stateless.
 */
final class RowCodec {
  /** Version of a row whose billing period is the month in UTC. */
  private static final int VERSION = 1;

  /**
   * Version of a row whose figures are followed by a billing period of the client's own calendar.
   */
  private static final int VERSION_WITH_PERIOD = 2;

  private RowCodec() {}

  /** Clears the encoder and appends the version of a row. */
  static Packer begin(Packer value, @Nullable BillingPeriod ownPeriod) {
    return value.reset().integer(ownPeriod == null ? VERSION : VERSION_WITH_PERIOD);
  }

  /** Appends the billing period, if the client has its own calendar. Returns the stored form. */
  static byte[] end(Packer value, @Nullable BillingPeriod ownPeriod) {
    if (ownPeriod != null) {
      value
          .text(ownPeriod.name())
          .text(ownPeriod.timeZone())
          .integer(ownPeriod.startEpochMillis())
          .integer(ownPeriod.endEpochMillis());
    }
    return value.toBytes();
  }

  /** Creates a decoder, which continues after the version. */
  static Unpacker open(byte[] bytes) {
    return Unpacker.ofVersions(bytes, VERSION, VERSION_WITH_PERIOD);
  }

  /** Reads the billing period. Returns null if it is the month in UTC. */
  static @Nullable BillingPeriod period(Unpacker value) {
    return value.version() == VERSION
        ? null
        : BillingPeriod.own(value.text(), value.text(), value.integer(), value.integer());
  }
}
