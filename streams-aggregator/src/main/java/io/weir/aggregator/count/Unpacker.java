// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import java.nio.charset.StandardCharsets;

/** Reads what {@link Packer} wrote. Not safe for threads. */
final class Unpacker {
  private final byte[] bytes;
  private int position;
  private long version;

  Unpacker(byte[] bytes) {
    this.bytes = bytes;
  }

  /**
   * Begins a value.
   *
   * @throws IllegalStateException when the value is of another version: a store must not be guessed
   */
  static Unpacker ofVersion(byte[] bytes, int version) {
    return ofVersions(bytes, version, version);
  }

  /**
   * Begins a value of one of several versions, which {@link #version} tells.
   *
   * @throws IllegalStateException when the value is of another version: a store must not be guessed
   */
  static Unpacker ofVersions(byte[] bytes, int oldest, int newest) {
    Unpacker value = new Unpacker(bytes);
    value.version = value.integer();
    if (value.version < oldest || value.version > newest) {
      throw new IllegalStateException(
          "a stored value has version "
              + value.version
              + ", this program reads version "
              + (oldest == newest ? "" : oldest + " to ")
              + newest);
    }
    return value;
  }

  /** The version of the value. */
  long version() {
    return version;
  }

  long integer() {
    long rest = 0;
    int shift = 0;
    byte next;
    do {
      next = bytes[position++];
      rest |= (long) (next & 0x7f) << shift;
      shift += 7;
    } while (next < 0);
    return (rest >>> 1) ^ -(rest & 1);
  }

  int count() {
    return Math.toIntExact(integer());
  }

  boolean bool() {
    return integer() != 0;
  }

  String text() {
    int size = count();
    String text = new String(bytes, position, size, StandardCharsets.UTF_8);
    position += size;
    return text;
  }
}
