// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.topics.log.CallsReader.Slice;

/** Reads one partition of the calls topic for one search, one fetch at a time. Not thread-safe. */
interface PartitionReader {
  /** Returns the offset of the oldest retained record. */
  long begin() throws InterruptedException;

  /** Returns the offset after the newest record. */
  long end() throws InterruptedException;

  /**
   * Returns the offset of the first record that the broker appended at or after the given time.
   * Returns the end offset if there is no such record.
   */
  long offsetAt(long epochMillis) throws InterruptedException;

  /**
   * Reads the records of one fetch, at least one. The offset must be before the end.
   *
   * @throws Spent if the search has read its maximum or has taken too long
   */
  Slice read(long offset) throws Spent, InterruptedException;

  /** Thrown when a search must stop, because it has read its maximum or has taken too long. */
  final class Spent extends Exception {
    private static final long serialVersionUID = 1L;

    Spent() {
      super(
          "the search has read its maximum number of bytes or has taken too " + "long",
          null,
          false,
          false);
    }
  }
}
