// SPDX-License-Identifier: Apache-2.0
/**
 * The audit of one bucket: compares the cache's stamps with the recorded calls, computes the due
 * correction, and judges the cache's decisions. Decision record 0005 has the arithmetic and its
 * proof. Pure: depends on limits, the topics' model and {@code state}, not on {@code audit}, which
 * calls it.
 */
@NullMarked
package io.weir.aggregator.audit.bucket;

import org.jspecify.annotations.NullMarked;
