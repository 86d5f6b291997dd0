// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.state.Packer;
import io.weir.aggregator.state.Unpacker;
import io.weir.topics.model.UsageCount;

/**
 * The state of one row of the ledger, kept for as long as adjustments of it may come.
 *
 * @param revision revision of its last row
 * @param total the sum of its rows
 */
record ClosedRow(long revision, UsageCount total) {
  private static final int VERSION = 1;

  byte[] toBytes() {
    Packer value = new Packer().integer(VERSION).integer(revision);
    Tally.of(total).pack(value);
    return value.toBytes();
  }

  static ClosedRow ofBytes(byte[] bytes) {
    Unpacker value = Unpacker.ofVersion(bytes, VERSION);
    return new ClosedRow(value.integer(), Tally.unpack(value).toCount());
  }
}
