// SPDX-License-Identifier: Apache-2.0
/**
 * Records calls: appends them to a journal, seals batches of them, and sends these to Kafka in
 * order. A call passes {@link io.weir.ingest.record.CallRecorder}, {@link
 * io.weir.ingest.record.GroupCommit}, {@link io.weir.ingest.record.PartitionBuffer}, {@link
 * io.weir.ingest.record.BatchSealer}, {@link io.weir.ingest.record.BatchSender}. Depends on its
 * journal, the gate's port, the topics, the Kafka clients, Micrometer and a logger.
 */
@NullMarked
package io.weir.ingest.record;

import org.jspecify.annotations.NullMarked;
