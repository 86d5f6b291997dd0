// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

/**
 * The members of a stored value, in their stored order. One implementation writes the members, and
 * another reads them. So each class lists its members only once, for both directions.
 */
interface StoredMembers {
  /** Writes an integer and returns it, or ignores the parameter and returns the stored integer. */
  long integer(long value);

  /** Writes a text and returns it, or ignores the parameter and returns the stored text. */
  String text(String value);

  /** Writes or reads the number of the members that follow. */
  default int count(int value) {
    return Math.toIntExact(integer(value));
  }
}
