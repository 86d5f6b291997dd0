// SPDX-License-Identifier: Apache-2.0
/**
 * The Streams application that counts: one class per topology, one file of names; depends on the
 * counting rules and Kafka Streams.
 */
@NullMarked
package io.weir.aggregator.topology;

import org.jspecify.annotations.NullMarked;
