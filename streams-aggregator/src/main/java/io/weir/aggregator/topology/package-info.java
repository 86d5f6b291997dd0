// SPDX-License-Identifier: Apache-2.0
/**
 * The Streams application that counts: its topology, processor, clients and settings. Depends on
 * the counting rules and Kafka Streams.
 */
@NullMarked
package io.weir.aggregator.topology;

import org.jspecify.annotations.NullMarked;
