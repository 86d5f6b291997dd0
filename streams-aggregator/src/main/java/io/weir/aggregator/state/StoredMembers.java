// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.state;

/**
 * The members of a stored value, in their stored order. {@link Packer#members} writes the members,
 * and {@link Unpacker#members} reads them. So each class lists its members only once, for writing
 * and for reading.
 */
public interface StoredMembers {
  /** Writes an integer and returns it, or ignores the parameter and returns the stored integer. */
  long integer(long value);

  /** Writes a text and returns it, or ignores the parameter and returns the stored text. */
  String text(String value);

  /** Writes or reads the number of the members that follow. */
  default int count(int value) {
    return Math.toIntExact(integer(value));
  }
}
