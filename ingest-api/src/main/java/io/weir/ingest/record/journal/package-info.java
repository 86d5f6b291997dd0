// SPDX-License-Identifier: Apache-2.0
/**
 * The write-ahead journal of an ingest node. It stores lines, and the manifests of their batches,
 * until Kafka has acknowledged them. Depends on the topics' model, RocksDB and a logger, but not on
 * Kafka or the recorder.
 */
@NullMarked
package io.weir.ingest.record.journal;

import org.jspecify.annotations.NullMarked;
