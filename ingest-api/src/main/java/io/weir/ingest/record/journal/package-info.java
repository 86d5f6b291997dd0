// SPDX-License-Identifier: Apache-2.0
/**
 * The write-ahead journal of an ingest node. The journal stores lines and the manifests of batches
 * until Kafka has acknowledged the batches. Depends on the model of the module {@code topics},
 * RocksDB and SLF4J, but not on Kafka or the recorder.
 */
@NullMarked
package io.weir.ingest.record.journal;

import org.jspecify.annotations.NullMarked;
