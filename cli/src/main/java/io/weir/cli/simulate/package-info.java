// SPDX-License-Identifier: Apache-2.0
/**
 * What algorithms and policies would have decided: they are given traffic, made or recorded, and
 * compared with the exact sliding window. Asks neither Redis nor Kafka.
 */
@NullMarked
package io.weir.cli.simulate;

import org.jspecify.annotations.NullMarked;
