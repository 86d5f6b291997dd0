// SPDX-License-Identifier: Apache-2.0
/**
 * Keeps the decision cache correct: applies corrections, and notifies the aggregator when the cache
 * has lost its state. Depends on the module {@code topics}, the interfaces of the decision cache,
 * the Kafka clients, Micrometer and SLF4J.
 */
@NullMarked
package io.weir.ingest.correct;

import org.jspecify.annotations.NullMarked;
