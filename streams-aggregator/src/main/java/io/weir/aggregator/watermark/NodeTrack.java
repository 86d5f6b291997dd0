// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.watermark;

import io.weir.topics.model.BatchHeader;
import java.util.ArrayList;
import java.util.List;

/**
 * The part of one journal (node and epoch) that has arrived in one partition. It determines whether
 * a line is new, the journal's low watermark, and which of its calls may be missing. Immutable.
 *
 * <p>A line is identified by its position in the journal. Each opening of a journal has its own
 * epoch, so a position never identifies two lines. This holds even if the journal goes back because
 * a disk was restored or power was lost. Remaining lines keep their epoch and positions, even in
 * other batches, and new lines get a new epoch.
 *
 * <p>The method is the anti-replay window of RFC 4303 §3.4.3: remember the greatest number, and
 * which earlier numbers have arrived. Arrived positions are stored as runs, not as bits. So lines
 * lost forever cost one run and not the width of a window, and remain as evidence until the journal
 * is deleted. The state grows with journals and holes, not with calls.
 *
 * <p>The low watermark of a batch states that all earlier calls have positions up to the batch's
 * last line. It is trusted if no line up to there is missing. A hole blocks later low watermarks
 * until the one before it lags behind the partition's newest by more than the hold. After that, the
 * low watermarks after the hole are trusted, and calls may be missing in the time that the hole
 * covers.
 *
 * @param node the node's name
 * @param epoch the opening of the node's journal
 * @param spans runs of arrived positions, ascending, with a hole between each two; the first begins
 *     at 0
 * @param forgottenThrough the last line up to which arrived and missing lines can no longer be
 *     distinguished; 0 if all can
 * @param forgottenMissing number of missing lines among those
 * @param headLine position in a heartbeat whose line has not arrived; 0 if there is none
 * @param headLowWatermarkEpochMillis the low watermark of that heartbeat
 * @param headAtEpochMillis the broker's time of that heartbeat
 * @param departed whether the node has declared that all lines of the journal have been sent
 * @param firstAtEpochMillis the broker's time of the journal's first record
 * @param lastAtEpochMillis the broker's time of its last record
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

  /** Maximum number of runs; if there are more, the oldest hole is forgotten. */
  static final int MAX_SPANS = 256;

  NodeTrack {
    spans = List.copyOf(spans);
  }

  /**
   * Creates the track of a new journal. Its first low watermark is the creation time of its epoch,
   * because it contains no older call. If its first record has a lesser low watermark, the node's
   * clock is ahead, and the lesser value is used.
   *
   * @param lowWatermark the low watermark of its first record
   * @param base position of the last line before the epoch, or before the oldest record of the
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

  /** Returns the track after a batch. The low watermark must be at most the broker's time. */
  NodeTrack withBatch(BatchHeader header, long lowWatermark, long atEpochMillis) {
    Span arrived =
        new Span(header.linesBefore() + 1, header.linesEnd(), lowWatermark, atEpochMillis);
    List<Span> next = new ArrayList<>(spans.size() + 1);
    long revealedBehind = Long.MAX_VALUE;
    for (Span span : spans) {
      if (arrived.touches(span)) {
        // lines missing before the joined run were decided before either run arrived
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

  /** Returns the track after a heartbeat, which states the journal's number of lines. */
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
      // the journal has gone back: it has fewer lines than have arrived, and may have lost others,
      // so it has not departed
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

  /** Returns the position of the last line without a hole before it. */
  long lines() {
    return spans.get(0).last();
  }

  /** Returns the number of lines missing below the greatest known position. */
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

  /** Returns the greatest low watermark of the journal, trusted or not. */
  long newestLowWatermark() {
    long newest = headLowWatermarkEpochMillis;
    for (Span span : spans) {
      newest = Math.max(newest, span.lowWatermarkEpochMillis());
    }
    return newest;
  }

  /**
   * Returns the trusted low watermark.
   *
   * @param holdUntil the newest low watermark of the partition less the hold; a hole is awaited
   *     while the low watermark before it is at least this
   */
  long lowWatermark(long holdUntil) {
    long believed = spans.get(0).lowWatermarkEpochMillis();
    for (int i = 1; i < spans.size() && believed < holdUntil; i++) {
      believed = Math.max(believed, spans.get(i).lowWatermarkEpochMillis());
    }
    return believed < holdUntil ? Math.max(believed, headLowWatermarkEpochMillis) : believed;
  }

  /** Returns the event times of the calls that may be missing in holes, in ascending order. */
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
