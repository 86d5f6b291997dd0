// SPDX-License-Identifier: Apache-2.0
/**
 * The audit of one bucket. It compares the cache's stamps with the recorded calls, computes the due
 * correction, and judges the cache's decisions. Decision record 0005 contains the arithmetic and
 * its proof. This package depends on limits, the topics' model and {@code state}, and not on {@code
 * audit}, which calls it. The package does not use Kafka, threads, files or clocks.
 */
@NullMarked
package io.weir.aggregator.audit.bucket;

import org.jspecify.annotations.NullMarked;
