// SPDX-License-Identifier: Apache-2.0
/**
 * The interface to persistent state: an ordered map of byte arrays, the encoding of its values, and
 * a limit on the duration of work. This package depends only on the JDK. This package does not use
 * Kafka, threads, files or clocks.
 */
@NullMarked
package io.weir.aggregator.state;

import org.jspecify.annotations.NullMarked;
