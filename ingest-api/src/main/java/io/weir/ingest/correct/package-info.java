// SPDX-License-Identifier: Apache-2.0
/**
 * The healing side of a node: applies corrections to the decision cache, and tells the aggregator
 * when the cache has lost its state. Depends on the topics, the decision cache's ports, the Kafka
 * clients and a logger.
 */
@NullMarked
package io.weir.ingest.correct;

import org.jspecify.annotations.NullMarked;
