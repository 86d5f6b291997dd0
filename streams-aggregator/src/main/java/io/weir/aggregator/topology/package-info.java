// SPDX-License-Identifier: Apache-2.0
/**
 * The Streams application that counts calls: its topology, processor, Kafka clients and settings.
 * This package depends on the counting rules and Kafka Streams.
 */
@NullMarked
package io.weir.aggregator.topology;

import org.jspecify.annotations.NullMarked;
