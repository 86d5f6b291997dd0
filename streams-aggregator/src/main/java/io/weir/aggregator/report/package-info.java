// SPDX-License-Identifier: Apache-2.0
/**
 * Usage reports over the table of newest figures, and their HTTP server. Depends on the names of
 * the topology, the interactive queries of Kafka Streams, and Javalin.
 */
@NullMarked
package io.weir.aggregator.report;

import org.jspecify.annotations.NullMarked;
