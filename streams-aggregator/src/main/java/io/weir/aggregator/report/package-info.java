// SPDX-License-Identifier: Apache-2.0
/**
 * The reports of the newest usage figures, and their HTTP server. This package depends on the names
 * of the topology, the interactive queries of Kafka Streams, and Javalin.
 */
@NullMarked
package io.weir.aggregator.report;

import org.jspecify.annotations.NullMarked;
