// SPDX-License-Identifier: Apache-2.0
/**
 * The write-ahead journal of an ingest node: it holds lines, and the manifests of the batches made
 * of them, until Kafka has acknowledged them. Depends on the topics' model, RocksDB and a logger;
 * knows neither Kafka nor the recorder.
 */
@NullMarked
package io.weir.ingest.record.journal;

import org.jspecify.annotations.NullMarked;
