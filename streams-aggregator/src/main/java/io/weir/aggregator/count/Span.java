// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

/**
 * A run of lines of one journal that all arrived.
 *
 * @param first position of the run's first line
 * @param last position of its last line, inclusive
 * @param promiseEpochMillis greatest low watermark that came with a line of the run
 * @param revealedAtEpochMillis when the broker took the first record that showed the run: whatever
 *     is missing before the run was decided before this
 */
record Span(long first, long last, long promiseEpochMillis, long revealedAtEpochMillis) {

  boolean holds(long line) {
    return first <= line && line <= last;
  }

  /** Whether both are one run, since they overlap or no line is between them. */
  boolean touches(Span other) {
    return first <= other.last + 1 && other.first <= last + 1;
  }

  Span withPromise(long epochMillis) {
    return epochMillis <= promiseEpochMillis
        ? this
        : new Span(first, last, epochMillis, revealedAtEpochMillis);
  }

  /** The run from the first to the last line of both, and of those between. */
  Span joinedWith(Span other) {
    Span earlier = first <= other.first ? this : other;
    return new Span(
        earlier.first,
        Math.max(last, other.last),
        Math.max(promiseEpochMillis, other.promiseEpochMillis),
        earlier.revealedAtEpochMillis);
  }
}
