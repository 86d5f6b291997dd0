// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.verify;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;

/**
 * One key and window, the unit for which the ledger has rows.
 *
 * @param partition partition of the calls topic
 * @param startEpochMillis start of the window
 */
record Slot(String client, String meter, String endpoint, long startEpochMillis, int partition) {
  private static final int PLACE_BYTES = Long.BYTES + Integer.BYTES;

  /** Returns bytes that sort by window, then partition, then names. */
  byte[] toBytes() {
    // no name contains a line feed
    byte[] names = (client + '\n' + meter + '\n' + endpoint).getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(PLACE_BYTES + names.length)
        .putLong(startEpochMillis)
        .putInt(partition)
        .put(names)
        .array();
  }

  static Slot ofBytes(ByteBuffer bytes) {
    long start = bytes.getLong();
    int partition = bytes.getInt();
    byte[] rest = new byte[bytes.remaining()];
    bytes.get(rest);
    String[] names = new String(rest, StandardCharsets.UTF_8).split("\n", 3);
    return new Slot(names[0], names[1], names[2], start, partition);
  }

  /** Returns the window's start, client, meter and endpoint in readable form. */
  @Override
  public String toString() {
    return Instant.ofEpochMilli(startEpochMillis) + " " + client + " " + meter + " " + endpoint;
  }
}
