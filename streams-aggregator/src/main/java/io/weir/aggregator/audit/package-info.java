// SPDX-License-Identifier: Apache-2.0
/**
 * The audit of the decision cache over all buckets of a partition: keeps the audit of each bucket,
 * publishes the corrections that are due, restores a cache that has lost its state, and sums up how
 * often the cache was wrong. What is known of one bucket is the matter of {@code bucket}. Pure:
 * depends on limits, the topics' model and {@code state}, not on {@code count}, and knows no Kafka,
 * thread, file or clock.
 */
@NullMarked
package io.weir.aggregator.audit;

import org.jspecify.annotations.NullMarked;
