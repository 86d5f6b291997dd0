// SPDX-License-Identifier: Apache-2.0
/**
 * The rules by which calls are counted: duplicates, watermark, folding, closing, adjusting. Pure:
 * depends on the topics' model and wire and knows no Kafka, thread, file or clock.
 */
@NullMarked
package io.weir.aggregator.count;

import org.jspecify.annotations.NullMarked;
