// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.topics.log.CallsReader.Slice;

/** Reads one partition of the calls topic for one search, one slice at a time. Not thread-safe. */
interface PartitionReader {
  /** Returns the offset of the oldest retained record. */
  long begin() throws InterruptedException;

  /** Returns the offset after the newest record. */
  long end() throws InterruptedException;

  /**
   * Returns the offset of the first record that the broker appended at or after a time, or the end
   * if there is none.
   */
  long offsetAt(long epochMillis) throws InterruptedException;

  /**
   * Reads the records of one fetch from an offset that is before the end; at least one record.
   *
   * @throws Spent if this search may not read more
   */
  Slice read(long offset) throws Spent, InterruptedException;

  /** Thrown if a search may not read more, because it has read too much or taken too long. */
  final class Spent extends Exception {
    private static final long serialVersionUID = 1L;

    Spent() {
      super("the search has used up its bytes or its time", null, false, false);
    }
  }
}
