// SPDX-License-Identifier: Apache-2.0
/**
 * The audit of the decision cache: compares the cache's state of each bucket, as its stamps show
 * it, with the recorded calls, publishes corrections where the two disagree, and judges the cache's
 * decisions. Decision record 0005 has the arithmetic and its proof. Pure: depends on limits, the
 * topics' model and {@code state}, not on {@code count}, and knows no Kafka, thread, file or clock.
 */
@NullMarked
package io.weir.aggregator.audit;

import org.jspecify.annotations.NullMarked;
