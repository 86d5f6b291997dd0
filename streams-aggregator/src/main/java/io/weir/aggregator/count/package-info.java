// SPDX-License-Identifier: Apache-2.0
/**
 * Counts usage: drops duplicates, sums windows, closes and adjusts them. Pure: depends on the
 * topics' model and wire, on {@code state} and {@code watermark}, and on {@code audit}, to which it
 * passes each record. Uses no Kafka, thread, file or clock.
 *
 * <p>The steps for a record:
 *
 * <ol>
 *   <li>Refuse. A record with unreadable headers, or with another number of lines than its header
 *       says, goes to the quarantine as a whole; its batch number stays missing. A malformed line,
 *       a client of another partition, or a call outside the accepted times goes there alone.
 *   <li>Drop duplicates: lines by node, journal and position, and calls by the ids of callers.
 *       Arrived positions are runs, at most 256 per journal. Beyond that the oldest hole is given
 *       up, and a line of it that still arrives is quarantined.
 *   <li>Add the calls to open rows. A row is written once per batch.
 *   <li>Advance the watermark: the least low watermark of the live nodes. A node, or a hole, that
 *       is older than the hold is not waited for.
 *   <li>Close every window that ends at or before the watermark minus the grace. Its rows are
 *       written in pieces, then the CLOSE row. A later fact is one adjustment per key and batch.
 * </ol>
 */
@NullMarked
package io.weir.aggregator.count;

import org.jspecify.annotations.NullMarked;
