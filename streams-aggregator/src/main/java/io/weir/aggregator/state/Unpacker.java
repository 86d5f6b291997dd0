// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.state;

import java.nio.charset.StandardCharsets;

/**
 * A decoder of values that {@link Packer} has encoded. The caller reads the members in the order in
 * which they were appended. Not thread-safe.
 */
public final class Unpacker {
  private final byte[] bytes;
  private int position;
  private long version;

  private Unpacker(byte[] bytes) {
    this.bytes = bytes;
  }

  /**
   * Creates a decoder of a value whose first member is its version.
   *
   * @throws IllegalStateException if the value has another version
   */
  public static Unpacker ofVersion(byte[] bytes, int version) {
    return ofVersions(bytes, version, version);
  }

  /**
   * Creates a decoder of a value whose first member is its version. The version must be in a range.
   *
   * @param oldest the least accepted version, inclusive
   * @param newest the greatest accepted version, inclusive
   * @throws IllegalStateException if the version is not in the range
   */
  public static Unpacker ofVersions(byte[] bytes, int oldest, int newest) {
    Unpacker value = new Unpacker(bytes);
    value.version = value.integer();
    if (value.version < oldest || value.version > newest) {
      throw new IllegalStateException(
          "a stored value has version "
              + value.version
              + ", but this program reads only version "
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

  /** Reads the next member as a count of the members or bytes that follow. */
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

  /** Returns a view of this decoder that reads each member. */
  public StoredMembers members() {
    return new StoredMembers() {
      @Override
      public long integer(long ignored) {
        return Unpacker.this.integer();
      }

      @Override
      public String text(String ignored) {
        return Unpacker.this.text();
      }
    };
  }
}
