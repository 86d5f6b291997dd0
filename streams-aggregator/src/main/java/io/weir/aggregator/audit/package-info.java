// SPDX-License-Identifier: Apache-2.0
/**
 * The audit of the decision cache for all buckets of a partition. This package stores the audit of
 * each bucket, publishes due corrections, restores a cache that lost its state, and counts wrong
 * decisions. The package {@code bucket} audits one bucket. This package depends on the limits, the
 * topics' model and {@code state}, and not on {@code count}. This package does not use Kafka,
 * threads, files or clocks.
 */
@NullMarked
package io.weir.aggregator.audit;

import org.jspecify.annotations.NullMarked;
