// SPDX-License-Identifier: Apache-2.0
/**
 * The counting rules: removal of duplicates, sums of windows, closing and adjustment of windows.
 * This package depends on the topics' model and record formats, on {@code state}, {@code watermark}
 * and {@code audit}. This package does not use Kafka, threads, files or clocks.
 *
 * <p>The counter processes a record in these steps:
 *
 * <ol>
 *   <li>Refuse invalid data. The whole record is quarantined if the headers are unreadable, the
 *       value is not a batch, or the number of lines differs from the header. Its lines then stay
 *       missing. A single line is quarantined if it is malformed, belongs to another partition, or
 *       has a time that is not accepted.
 *   <li>Drop duplicates. Node, journal epoch and position identify a line; the caller's id
 *       identifies a call. Arrived positions are stored as at most 256 runs per journal; the
 *       missing positions between two runs are a hole. If a journal has more runs, the counter
 *       forgets the oldest hole, and quarantines the lines of this hole that arrive later.
 *   <li>Add the calls to open rows. A row is written once per batch.
 *   <li>Advance the watermark, which is the least low watermark of the live nodes. The watermark
 *       does not wait for a node or a hole whose lag exceeds the hold.
 *   <li>Close every window that ends at or before the watermark minus the grace. The rows of the
 *       window are written in several steps, and the CLOSE row follows. Usage that arrives later
 *       becomes one adjustment per key, reason and batch.
 * </ol>
 */
@NullMarked
package io.weir.aggregator.count;

import org.jspecify.annotations.NullMarked;
