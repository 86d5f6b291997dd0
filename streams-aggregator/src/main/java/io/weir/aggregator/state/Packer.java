// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.state;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * A compact encoder of stored values. An integer is encoded as a zigzag varint (7 bits per byte,
 * least significant first, as in Protocol Buffers). A text is encoded as the number of its UTF-8
 * bytes, followed by these bytes. {@link Unpacker} decodes the values. Not thread-safe.
 */
public final class Packer {
  private byte[] bytes = new byte[128];
  private int length;

  /** Appends an integer in 1 to 10 bytes. */
  public Packer integer(long value) {
    ensure(10);
    long rest = (value << 1) ^ (value >> 63);
    while ((rest & ~0x7fL) != 0) {
      bytes[length++] = (byte) (rest | 0x80);
      rest >>>= 7;
    }
    bytes[length++] = (byte) rest;
    return this;
  }

  /** Appends a boolean as the integer 0 or 1. */
  public Packer bool(boolean value) {
    return integer(value ? 1 : 0);
  }

  /** Appends a text. */
  public Packer text(String value) {
    byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
    integer(utf8.length);
    ensure(utf8.length);
    System.arraycopy(utf8, 0, bytes, length, utf8.length);
    length += utf8.length;
    return this;
  }

  /** Returns a view of this encoder that appends each member. */
  public StoredMembers members() {
    return new StoredMembers() {
      @Override
      public long integer(long member) {
        Packer.this.integer(member);
        return member;
      }

      @Override
      public String text(String member) {
        Packer.this.text(member);
        return member;
      }
    };
  }

  /** Clears the buffer for the next value. */
  public Packer reset() {
    length = 0;
    return this;
  }

  /** Returns a copy of the bytes appended since the last {@link #reset}. */
  public byte[] toBytes() {
    return Arrays.copyOf(bytes, length);
  }

  private void ensure(int more) {
    if (length + more > bytes.length) {
      bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, length + more));
    }
  }
}
