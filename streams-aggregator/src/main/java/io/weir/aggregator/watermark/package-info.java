// SPDX-License-Identifier: Apache-2.0
/**
 * The low watermarks of the ingest journals in one partition. This package determines the lines
 * that have arrived, the partition's watermark, and the times for which calls may be missing. This
 * package depends only on the topics' model and on {@code state}. This package does not use Kafka,
 * threads, files or clocks.
 */
@NullMarked
package io.weir.aggregator.watermark;

import org.jspecify.annotations.NullMarked;
