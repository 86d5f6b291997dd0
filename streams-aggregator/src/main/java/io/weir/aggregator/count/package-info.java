// SPDX-License-Identifier: Apache-2.0
/**
 * The counting of usage: duplicates, folding, closing, adjusting. Pure: depends on the topics'
 * model and wire, on {@code state} and {@code watermark}, and on {@code audit}, which it drives
 * record by record; knows no Kafka, thread, file or clock.
 */
@NullMarked
package io.weir.aggregator.count;

import org.jspecify.annotations.NullMarked;
