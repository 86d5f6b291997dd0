// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.topics.model.UsageKey;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;

/**
 * One key and window, the unit of ledger rows.
 *
 * @param endpoint endpoint of the calls; empty for others, the endpoints of the client and meter
 *     without a row of their own. No endpoint's name is empty
 * @param partition partition of the calls topic
 * @param startEpochMillis start of the window
 */
record Slot(String client, String meter, String endpoint, long startEpochMillis, int partition) {
  static Slot of(UsageKey key, long startEpochMillis, int partition) {
    return new Slot(
        key.client(), key.meter(), key.others() ? "" : key.endpoint(), startEpochMillis, partition);
  }

  /** Returns the slot of the endpoints without their own row in the same window. */
  Slot others() {
    return new Slot(client, meter, "", startEpochMillis, partition);
  }

  boolean isOthers() {
    return endpoint.isEmpty();
  }

  /**
   * Returns bytes that sort by window, then partition, then names. Others sort before the endpoints
   * of the same client and meter.
   */
  byte[] toBytes() {
    // no name contains a line feed
    byte[] names = (client + '\n' + meter + '\n' + endpoint).getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(Long.BYTES + Integer.BYTES + names.length)
        .putLong(startEpochMillis)
        .putInt(partition)
        .put(names)
        .array();
  }

  /** Returns the window's start, client, meter and endpoint. */
  @Override
  public String toString() {
    Instant start = Instant.ofEpochMilli(startEpochMillis);
    return String.join(" ", start.toString(), client, meter, isOthers() ? "(others)" : endpoint);
  }
}
