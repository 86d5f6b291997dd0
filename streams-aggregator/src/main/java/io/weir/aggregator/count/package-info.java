// SPDX-License-Identifier: Apache-2.0
/**
 * Counts usage: drops duplicates, sums windows, closes and adjusts them. Pure: depends on the
 * topics' model and wire, on {@code state} and {@code watermark}, and on {@code audit}, to which it
 * passes each record. Uses no Kafka, thread, file or clock.
 */
@NullMarked
package io.weir.aggregator.count;

import org.jspecify.annotations.NullMarked;
