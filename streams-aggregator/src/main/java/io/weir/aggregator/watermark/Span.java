// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.watermark;

/**
 * A run of consecutive arrived lines of one journal.
 *
 * @param first position of the first line
 * @param last position of the last line, inclusive
 * @param lowWatermarkEpochMillis greatest low watermark of the batches of the run
 * @param revealedAtEpochMillis the broker's time of the first record of the run or of a later one;
 *     lines missing before the run were decided before this time
 */
record Span(long first, long last, long lowWatermarkEpochMillis, long revealedAtEpochMillis) {

  /** Returns whether the run contains a line. */
  boolean holds(long line) {
    return first <= line && line <= last;
  }

  /** Returns whether both form one run: they overlap, or no line is between them. */
  boolean touches(Span other) {
    return first <= other.last + 1 && other.first <= last + 1;
  }

  /** Returns the run with a low watermark; unchanged if its own is greater. */
  Span withLowWatermark(long epochMillis) {
    return epochMillis <= lowWatermarkEpochMillis
        ? this
        : new Span(first, last, epochMillis, revealedAtEpochMillis);
  }

  /** Returns one run from the first to the last line of both, including the lines between. */
  Span joinedWith(Span other) {
    Span earlier = first <= other.first ? this : other;
    return new Span(
        earlier.first,
        Math.max(last, other.last),
        Math.max(lowWatermarkEpochMillis, other.lowWatermarkEpochMillis),
        earlier.revealedAtEpochMillis);
  }
}
