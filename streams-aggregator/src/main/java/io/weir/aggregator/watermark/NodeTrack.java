// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.watermark;

import io.weir.topics.model.BatchHeader;
import java.util.ArrayList;
import java.util.List;

/**
 * The lines of one journal epoch that have arrived in one partition. The track determines whether a
 * line is new, the journal's low watermark, and the times for which calls may be missing.
 * Immutable.
 *
 * <p>Epoch and position identify a line of a journal. Each opening of a journal has a new epoch, so
 * two lines never have the same epoch and position. Epoch and position stay unique even if a
 * journal loses lines because a disk was restored or power was lost. The remaining lines keep their
 * epochs and positions, even if the node sends the lines in other batches than before. New lines
 * get the new epoch.
 *
 * <p>The algorithm is the anti-replay window of RFC 4303 §3.4.3. This algorithm stores the greatest
 * number and the set of earlier numbers that have arrived. The set is stored as runs of consecutive
 * positions instead of bits. So a hole of any length adds only one run, and remains known until the
 * journal is deleted. The size of the state depends on the number of journals and holes, not on the
 * number of calls.
 *
 * <p>The low watermark of a batch states that every call before that time is at or before the
 * batch's last line. The aggregator trusts a low watermark if no line up to the batch's last line
 * is missing. While the aggregator waits for the lines of a hole, it does not trust the low
 * watermarks after the hole. The wait ends when the low watermark before the hole lags behind the
 * partition's newest low watermark by more than the hold. The aggregator then trusts the low
 * watermarks after the hole, and calls may be missing for the time of the hole.
 *
 * @param node the node's name
 * @param epoch the journal epoch, which identifies one opening of the node's journal
 * @param spans runs of arrived positions in ascending order, with a hole between consecutive runs;
 *     the first run begins at 0
 * @param forgottenThrough position up to which the track no longer stores which lines have arrived;
 *     0 if no hole was removed
 * @param forgottenMissing number of missing lines up to {@code forgottenThrough}
 * @param headLine position in the newest heartbeat, if the line with that position has not arrived;
 *     otherwise 0
 * @param headLowWatermarkEpochMillis the low watermark of the newest heartbeat
 * @param headAtEpochMillis the broker's time of the newest heartbeat
 * @param departed whether the node has declared that it has sent all lines of the journal
 * @param firstAtEpochMillis the broker's time of the journal's first record
 * @param lastAtEpochMillis the broker's time of the journal's last record
 */
record NodeTrack(
    String node,
    long epoch,
    List<Span> spans,
    long forgottenThrough,
    long forgottenMissing,
    long headLine,
    long headLowWatermarkEpochMillis,
    long headAtEpochMillis,
    boolean departed,
    long firstAtEpochMillis,
    long lastAtEpochMillis) {

  /** Maximum number of runs of a journal. Above this maximum, the oldest hole is removed. */
  static final int MAX_SPANS = 256;

  NodeTrack {
    spans = List.copyOf(spans);
  }

  /**
   * Creates the track of a new journal. The track's first low watermark is the creation time of the
   * epoch, because the epoch contains no older call. If the first record's low watermark is before
   * the creation time, the node's clock is ahead. The track then begins with the record's low
   * watermark.
   *
   * @param header the header of the journal's first record
   * @param lowWatermark the low watermark of the first record
   * @param base position of the last line before the epoch, or before the oldest record in the
   *     topic; 0 if there is none
   */
  static NodeTrack first(BatchHeader header, long lowWatermark, long base, long atEpochMillis) {
    Span start = new Span(0, base, Math.min(header.nodeEpoch(), lowWatermark), 0L);
    return new NodeTrack(
        header.node(),
        header.nodeEpoch(),
        List.of(start),
        0,
        0,
        0,
        0,
        0,
        false,
        atEpochMillis,
        atEpochMillis);
  }

  /** Returns whether the lines of a batch have arrived before. */
  LineArrival judge(BatchHeader header) {
    long first = header.linesBefore() + 1;
    long last = header.linesEnd();
    if (first <= forgottenThrough) {
      return last <= forgottenThrough ? LineArrival.FORGOTTEN : LineArrival.MIXED;
    }
    for (int i = spans.size() - 1; i >= 0; i--) {
      Span span = spans.get(i);
      if (span.last() < first) {
        break;
      }
      if (span.first() <= last) {
        return span.holds(first) && span.holds(last) ? LineArrival.SEEN : LineArrival.MIXED;
      }
    }
    return LineArrival.NEW;
  }

  /** Returns whether one line has arrived before. */
  LineArrival judge(long line) {
    if (line <= forgottenThrough) {
      return LineArrival.FORGOTTEN;
    }
    return spans.stream().anyMatch(span -> span.holds(line)) ? LineArrival.SEEN : LineArrival.NEW;
  }

  /**
   * Returns the track after a batch has arrived. The low watermark must not be later than the
   * broker's time.
   */
  NodeTrack withBatch(BatchHeader header, long lowWatermark, long atEpochMillis) {
    Span arrived =
        new Span(header.linesBefore() + 1, header.linesEnd(), lowWatermark, atEpochMillis);
    List<Span> next = new ArrayList<>(spans.size() + 1);
    long revealedBehind = Long.MAX_VALUE;
    for (Span span : spans) {
      if (arrived.touches(span)) {
        // calls missing before the joined run were decided before the earlier arrival of both runs
        long revealedAt =
            span.first() <= arrived.first()
                ? span.revealedAtEpochMillis()
                : Math.min(span.revealedAtEpochMillis(), arrived.revealedAtEpochMillis());
        Span joined = arrived.joinedWith(span);
        arrived =
            new Span(joined.first(), joined.last(), joined.lowWatermarkEpochMillis(), revealedAt);
      } else if (span.last() < arrived.first()) {
        next.add(span);
      } else {
        revealedBehind = Math.min(revealedBehind, span.revealedAtEpochMillis());
      }
    }
    next.add(
        new Span(
            arrived.first(),
            arrived.last(),
            arrived.lowWatermarkEpochMillis(),
            Math.min(arrived.revealedAtEpochMillis(), revealedBehind)));
    for (Span span : spans) {
      if (span.first() > arrived.last()) {
        next.add(span);
      }
    }
    boolean departedBehind = departed && header.linesEnd() <= Math.max(lastLine(), headLine);
    return with(next, departedBehind, atEpochMillis);
  }

  /**
   * Returns the track after a heartbeat has arrived. A heartbeat states the number of lines of the
   * journal.
   */
  NodeTrack withHeartbeat(BatchHeader header, long lowWatermark, long atEpochMillis) {
    long line = header.linesBefore();
    long last = lastLine();
    if (line > last) {
      boolean newer = line >= headLine;
      return new NodeTrack(
          node,
          epoch,
          spans,
          forgottenThrough,
          forgottenMissing,
          newer ? line : headLine,
          newer ? Math.max(lowWatermark, headLowWatermarkEpochMillis) : headLowWatermarkEpochMillis,
          headLine == 0 ? atEpochMillis : headAtEpochMillis,
          header.departing(),
          firstAtEpochMillis,
          atEpochMillis);
    }
    if (header.departing() && line < Math.max(last, headLine)) {
      // The journal lost lines: it has fewer lines than have arrived. It may also have lost lines
      // that have not arrived, so it has not departed.
      return with(new ArrayList<>(spans), departed, atEpochMillis);
    }
    List<Span> next = new ArrayList<>(spans);
    raise(next, line, lowWatermark);
    return with(next, header.departing(), atEpochMillis);
  }

  private NodeTrack with(List<Span> next, boolean nowDeparted, long atEpochMillis) {
    long forgotten = forgottenThrough;
    long missing = forgottenMissing;
    if (next.size() > MAX_SPANS) {
      Span oldest = next.get(0);
      Span second = next.remove(1);
      forgotten = second.first() - 1;
      missing += second.first() - oldest.last() - 1;
      next.set(0, oldest.joinedWith(second));
    }
    boolean headArrived = headLine <= next.get(next.size() - 1).last();
    if (headArrived && headLine > 0) {
      raise(next, headLine, headLowWatermarkEpochMillis);
    }
    return new NodeTrack(
        node,
        epoch,
        next,
        forgotten,
        missing,
        headArrived ? 0 : headLine,
        headArrived ? 0 : headLowWatermarkEpochMillis,
        headArrived ? 0 : headAtEpochMillis,
        nowDeparted,
        firstAtEpochMillis,
        atEpochMillis);
  }

  private static void raise(List<Span> spans, long line, long lowWatermark) {
    for (int i = 0; i < spans.size(); i++) {
      if (spans.get(i).holds(line)) {
        spans.set(i, spans.get(i).withLowWatermark(lowWatermark));
      }
    }
  }

  private long lastLine() {
    return spans.get(spans.size() - 1).last();
  }

  /** Returns the last position up to which no line is missing. */
  long lines() {
    return spans.get(0).last();
  }

  /** Returns the number of missing lines up to the greatest known position. */
  long missing() {
    long missing = forgottenMissing;
    for (int i = 1; i < spans.size(); i++) {
      missing += spans.get(i).first() - spans.get(i - 1).last() - 1;
    }
    return missing + Math.max(0, headLine - lastLine());
  }

  /** Returns whether the journal has departed and every known line has arrived. */
  boolean isFinished() {
    return departed && spans.size() == 1 && headLine == 0 && forgottenMissing == 0;
  }

  /** Returns the greatest low watermark of the journal, whether it is trusted or not. */
  long newestLowWatermark() {
    long newest = headLowWatermarkEpochMillis;
    for (Span span : spans) {
      newest = Math.max(newest, span.lowWatermarkEpochMillis());
    }
    return newest;
  }

  /**
   * Returns the greatest trusted low watermark.
   *
   * @param holdUntil the partition's newest low watermark minus the hold. The aggregator waits for
   *     the lines of a hole while the low watermark before the hole is at least this value
   */
  long lowWatermark(long holdUntil) {
    long believed = spans.get(0).lowWatermarkEpochMillis();
    for (int i = 1; i < spans.size() && believed < holdUntil; i++) {
      believed = Math.max(believed, spans.get(i).lowWatermarkEpochMillis());
    }
    return believed < holdUntil ? Math.max(believed, headLowWatermarkEpochMillis) : believed;
  }

  /**
   * Returns the intervals of event time for which calls may be missing because of holes, in
   * ascending order.
   */
  List<Interval> holes() {
    if (spans.size() == 1 && headLine == 0) {
      return List.of();
    }
    List<Interval> holes = new ArrayList<>(spans.size());
    long lowWatermarkBefore = 0;
    for (int i = 0; i < spans.size(); i++) {
      Span span = spans.get(i);
      if (i > 0) {
        holes.add(new Interval(lowWatermarkBefore, span.revealedAtEpochMillis()));
      }
      lowWatermarkBefore = Math.max(lowWatermarkBefore, span.lowWatermarkEpochMillis());
    }
    if (headLine > 0) {
      holes.add(new Interval(lowWatermarkBefore, headAtEpochMillis));
    }
    return holes;
  }
}
