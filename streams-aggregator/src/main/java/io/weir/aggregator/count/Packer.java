// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Writes the compact values of the stores: integers as zigzag varints (7 bits a byte, least
 * significant first, as in Protocol Buffers), texts as length and UTF-8. Not safe for threads.
 */
final class Packer {
  private byte[] bytes = new byte[128];
  private int length;

  Packer integer(long value) {
    ensure(10);
    long rest = (value << 1) ^ (value >> 63);
    while ((rest & ~0x7fL) != 0) {
      bytes[length++] = (byte) (rest | 0x80);
      rest >>>= 7;
    }
    bytes[length++] = (byte) rest;
    return this;
  }

  Packer bool(boolean value) {
    return integer(value ? 1 : 0);
  }

  Packer text(String value) {
    byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
    integer(utf8.length);
    ensure(utf8.length);
    System.arraycopy(utf8, 0, bytes, length, utf8.length);
    length += utf8.length;
    return this;
  }

  /** Begins the next value with the same buffer. */
  Packer reset() {
    length = 0;
    return this;
  }

  byte[] toBytes() {
    return Arrays.copyOf(bytes, length);
  }

  private void ensure(int more) {
    if (length + more > bytes.length) {
      bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, length + more));
    }
  }
}
