// SPDX-License-Identifier: Apache-2.0
/**
 * Keeps the decision cache correct: applies corrections, and publishes to the aggregator when the
 * cache has lost its state. Depends on the topics, the decision cache's ports, the Kafka clients,
 * Micrometer and a logger.
 */
@NullMarked
package io.weir.ingest.correct;

import org.jspecify.annotations.NullMarked;
