// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import java.nio.ByteBuffer;

/**
 * The place of a line in {@code weir.calls.v1}.
 *
 * @param offset offset of the record
 * @param line number of the line in the record, from 1; 0 for the whole record
 */
record LinePlace(int partition, long offset, int line) {
  private static final int BYTES = 2 * Integer.BYTES + Long.BYTES;

  /** Returns a key of the given kind for {@link Scratch}. */
  byte[] key(byte kind) {
    return key(kind, 0).array();
  }

  /** Returns such a key with room for more bytes. */
  ByteBuffer key(byte kind, int room) {
    return Scratch.key(kind, BYTES + room).putInt(partition).putLong(offset).putInt(line);
  }

  /** Returns the place of a key. */
  static LinePlace ofKey(byte[] key) {
    ByteBuffer place = ByteBuffer.wrap(key, 1, BYTES);
    return new LinePlace(place.getInt(), place.getLong(), place.getInt());
  }

  @Override
  public String toString() {
    return "calls " + partition + ":" + offset + (line == 0 ? "" : " line " + line);
  }
}
