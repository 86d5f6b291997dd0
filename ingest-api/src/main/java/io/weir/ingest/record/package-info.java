// SPDX-License-Identifier: Apache-2.0
/**
 * Records calls. This package appends calls to a journal, seals them in batches, and sends the
 * batches to Kafka in order. A call passes through {@link io.weir.ingest.record.CallRecorder},
 * {@link io.weir.ingest.record.GroupCommit}, {@link io.weir.ingest.record.PartitionBuffer}, {@link
 * io.weir.ingest.record.BatchSealer}, {@link io.weir.ingest.record.BatchSender}. Depends on the
 * package {@code journal}, the interfaces of the package {@code gate}, the module {@code topics},
 * the Kafka clients, Micrometer and SLF4J.
 */
@NullMarked
package io.weir.ingest.record;

import org.jspecify.annotations.NullMarked;
