// SPDX-License-Identifier: Apache-2.0
/**
 * The low watermarks of the ingest journals in one partition. Determines which lines have arrived,
 * the partition's watermark, and the times for which calls may be missing. Pure: depends on the
 * topics' model and on {@code state}.
 */
@NullMarked
package io.weir.aggregator.watermark;

import org.jspecify.annotations.NullMarked;
