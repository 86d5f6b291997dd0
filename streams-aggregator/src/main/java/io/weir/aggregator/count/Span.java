// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

/**
 * A run of batch numbers of one node that all arrived.
 *
 * @param first first number of the run
 * @param last last number of the run, inclusive
 * @param promiseEpochMillis greatest low watermark that came with a number of the run
 * @param linesEnd position of the last line of batch {@code last}
 * @param revealedAtEpochMillis when the broker took the first record that showed the run: whatever
 *     is missing before the run was decided before this
 */
record Span(
    long first, long last, long promiseEpochMillis, long linesEnd, long revealedAtEpochMillis) {

  boolean holds(long sequence) {
    return first <= sequence && sequence <= last;
  }

  Span withPromise(long epochMillis) {
    return epochMillis <= promiseEpochMillis
        ? this
        : new Span(first, last, epochMillis, linesEnd, revealedAtEpochMillis);
  }

  Span extendedUp(long promise, long newLinesEnd) {
    return new Span(
        first, last + 1, Math.max(promiseEpochMillis, promise), newLinesEnd, revealedAtEpochMillis);
  }

  Span extendedDown(long appendEpochMillis) {
    return new Span(
        first - 1,
        last,
        promiseEpochMillis,
        linesEnd,
        Math.min(revealedAtEpochMillis, appendEpochMillis));
  }

  Span joinedWith(Span next) {
    return new Span(
        first,
        next.last,
        Math.max(promiseEpochMillis, next.promiseEpochMillis),
        next.linesEnd,
        revealedAtEpochMillis);
  }
}
