// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.watermark;

/**
 * A run of lines of one journal that all arrived.
 *
 * @param first position of the run's first line
 * @param last position of its last line, inclusive
 * @param lowWatermarkEpochMillis greatest low watermark that came with a line of the run
 * @param revealedAtEpochMillis when the broker took the first record of the run or of a later one:
 *     whatever is missing before the run was decided before this
 */
record Span(long first, long last, long lowWatermarkEpochMillis, long revealedAtEpochMillis) {

  /** Returns whether a line is part of the run. */
  boolean holds(long line) {
    return first <= line && line <= last;
  }

  /** Returns whether both are one run: they overlap, or no line is between them. */
  boolean touches(Span other) {
    return first <= other.last + 1 && other.first <= last + 1;
  }

  /** Returns the run with a low watermark, unless its own is greater. */
  Span withLowWatermark(long epochMillis) {
    return epochMillis <= lowWatermarkEpochMillis
        ? this
        : new Span(first, last, epochMillis, revealedAtEpochMillis);
  }

  /** Returns the run from the first to the last line of both, with the lines between. */
  Span joinedWith(Span other) {
    Span earlier = first <= other.first ? this : other;
    return new Span(
        earlier.first,
        Math.max(last, other.last),
        Math.max(lowWatermarkEpochMillis, other.lowWatermarkEpochMillis),
        earlier.revealedAtEpochMillis);
  }
}
