// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.clock.LocalClock;
import io.weir.ingest.record.journal.BatchManifest;
import org.jspecify.annotations.Nullable;

/**
 * A sealed batch that Kafka has not acknowledged.
 *
 * @param manifest the batch's description, as journaled
 * @param lines the batch's bytes; null when they must be read from the journal
 * @param sinceNanos time at which the batch's oldest line began to wait, by {@link
 *     LocalClock#nowNanos}
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record SealedBatch(BatchManifest manifest, byte @Nullable [] lines, long sinceNanos) {

  /** Returns the number of bytes that the batch's lines occupy in memory. */
  int retainedBytes() {
    return lines == null ? 0 : lines.length;
  }
}
