// SPDX-License-Identifier: Apache-2.0
/**
 * Simulates algorithms and policies with generated or recorded traffic, and compares algorithms
 * with the exact sliding window. Uses neither Redis nor Kafka to decide.
 */
@NullMarked
package io.weir.cli.simulate;

import org.jspecify.annotations.NullMarked;
