// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

/**
 * Reads one partition of the calls topic for one search, a slice at a time. Not safe for threads.
 */
interface PartitionReader {
  /** The offset of the oldest record that is kept. */
  long begin() throws InterruptedException;

  /** The offset behind the newest record. */
  long end() throws InterruptedException;

  /** The offset of the first record that the broker took at a time or later; the end when none. */
  long offsetAt(long epochMillis) throws InterruptedException;

  /**
   * Reads from an offset before the end on, a fetch's worth; at least one record.
   *
   * @throws Spent when no more may be read for this search
   */
  Slice read(long offset) throws Spent, InterruptedException;

  /** No more may be read for this search: it was too much already, or takes too long. */
  final class Spent extends Exception {
    private static final long serialVersionUID = 1L;

    Spent() {
      super("no more may be read for this search", null, false, false);
    }
  }
}
