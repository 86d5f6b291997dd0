// SPDX-License-Identifier: Apache-2.0
/**
 * The low watermarks of the ingest journals in one partition: which of their lines have arrived,
 * the watermark that follows, and the times for which calls may be missing. Pure: depends on the
 * topics' model and on {@code state}.
 */
@NullMarked
package io.weir.aggregator.watermark;

import org.jspecify.annotations.NullMarked;
