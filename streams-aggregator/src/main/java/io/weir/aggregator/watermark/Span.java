// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.watermark;

/**
 * A run of consecutive arrived lines of one journal.
 *
 * @param first position of the first line
 * @param last position of the last line, inclusive
 * @param lowWatermarkEpochMillis greatest low watermark of the run's batches
 * @param revealedAtEpochMillis the earliest broker's time of a record of this run or of a later
 *     run. Calls that are missing before the run were decided before this time
 */
record Span(long first, long last, long lowWatermarkEpochMillis, long revealedAtEpochMillis) {

  /** Returns whether the run contains a line. */
  boolean holds(long line) {
    return first <= line && line <= last;
  }

  /** Returns whether both runs form one run, because they overlap or no line is between them. */
  boolean touches(Span other) {
    return first <= other.last + 1 && other.first <= last + 1;
  }

  /**
   * Returns the run with a new low watermark. Returns this run if its low watermark is greater or
   * equal.
   */
  Span withLowWatermark(long epochMillis) {
    return epochMillis <= lowWatermarkEpochMillis
        ? this
        : new Span(first, last, epochMillis, revealedAtEpochMillis);
  }

  /**
   * Returns the run from the first line to the last line of both runs. The returned run includes
   * all lines between the two runs.
   */
  Span joinedWith(Span other) {
    Span earlier = first <= other.first ? this : other;
    return new Span(
        earlier.first,
        Math.max(last, other.last),
        Math.max(lowWatermarkEpochMillis, other.lowWatermarkEpochMillis),
        earlier.revealedAtEpochMillis);
  }
}
