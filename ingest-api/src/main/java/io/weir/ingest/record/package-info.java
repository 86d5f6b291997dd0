// SPDX-License-Identifier: Apache-2.0
/**
 * The record path: a journal that loses no call, sealed batches cut from it, and the sender that
 * brings them to Kafka in order. Depends on the gate's port, the topics, the Kafka clients, RocksDB
 * and a logger.
 */
@NullMarked
package io.weir.ingest.record;

import org.jspecify.annotations.NullMarked;
