// SPDX-License-Identifier: Apache-2.0
/**
 * The audit of the decision cache for all buckets of a partition. It stores the audit of each
 * bucket, publishes due corrections, restores a cache that lost its state, and counts wrong
 * decisions. The package {@code bucket} audits a single bucket. Pure: depends on limits, the
 * topics' model and {@code state}, not on {@code count}, and uses no Kafka, thread, file or clock.
 */
@NullMarked
package io.weir.aggregator.audit;

import org.jspecify.annotations.NullMarked;
