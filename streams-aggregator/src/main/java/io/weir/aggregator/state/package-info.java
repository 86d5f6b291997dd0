// SPDX-License-Identifier: Apache-2.0
/**
 * Persistent state: an ordered map of bytes, the encoding of its values, and a limit on the
 * duration of work on it. Pure: depends only on the JDK, and uses no Kafka, thread, file or clock.
 */
@NullMarked
package io.weir.aggregator.state;

import org.jspecify.annotations.NullMarked;
