// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.ingest.clock.LocalClock;
import io.weir.ingest.record.journal.BatchManifest;
import org.jspecify.annotations.Nullable;

/**
 * A sealed batch that Kafka does not have yet.
 *
 * @param seal what it is made of
 * @param lines its bytes, null when they are to be read from the journal
 * @param sinceNanos since when its oldest line has waited, by {@link LocalClock#nowNanos}
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record SealedBatch(BatchManifest seal, byte @Nullable [] lines, long sinceNanos) {}
