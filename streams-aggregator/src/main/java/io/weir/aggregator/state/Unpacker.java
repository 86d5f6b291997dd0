// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.state;

import java.nio.charset.StandardCharsets;

/** Decodes a value that {@link Packer} encoded, member by member. Not thread-safe. */
public final class Unpacker {
  private final byte[] bytes;
  private int position;
  private long version;

  private Unpacker(byte[] bytes) {
    this.bytes = bytes;
  }

  /**
   * Begins a value whose first member is its version.
   *
   * @throws IllegalStateException when the value has another version: a stored value is never
   *     guessed at
   */
  public static Unpacker ofVersion(byte[] bytes, int version) {
    return ofVersions(bytes, version, version);
  }

  /**
   * Begins a value of one of several versions; {@link #version} returns which.
   *
   * @param oldest the least version that is accepted, inclusive
   * @param newest the greatest version that is accepted, inclusive
   * @throws IllegalStateException when the value has another version: a stored value is never
   *     guessed at
   */
  public static Unpacker ofVersions(byte[] bytes, int oldest, int newest) {
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

  /** Returns the version of the value. */
  public long version() {
    return version;
  }

  /** Reads the next member as an integer. */
  public long integer() {
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

  /** Reads the next member as the number of the members that follow. */
  public int count() {
    return Math.toIntExact(integer());
  }

  /** Reads the next member as a boolean. */
  public boolean bool() {
    return integer() != 0;
  }

  /** Reads the next member as a text. */
  public String text() {
    int size = count();
    String text = new String(bytes, position, size, StandardCharsets.UTF_8);
    position += size;
    return text;
  }
}
