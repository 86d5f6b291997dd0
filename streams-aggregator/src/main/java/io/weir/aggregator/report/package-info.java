// SPDX-License-Identifier: Apache-2.0
/**
 * Usage reports over the table of newest figures, and their HTTP edge; depends on the names of the
 * topology, the queries of Kafka Streams, and Javalin.
 */
@NullMarked
package io.weir.aggregator.report;

import org.jspecify.annotations.NullMarked;
