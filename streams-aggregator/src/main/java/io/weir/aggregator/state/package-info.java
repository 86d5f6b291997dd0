// SPDX-License-Identifier: Apache-2.0
/**
 * The state that survives the process: an ordered map of bytes, the encoding of its values, and the
 * bound on a piece of work over it. Pure: depends on the JDK alone and knows no Kafka, thread, file
 * or clock.
 */
@NullMarked
package io.weir.aggregator.state;

import org.jspecify.annotations.NullMarked;
