// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.topics.model.BatchHeader;
import java.util.ArrayList;
import java.util.List;

/**
 * What arrived from one journal (node and epoch) in one partition. It answers three questions: is
 * this line new, what has the node promised, which of its calls may be missing.
 *
 * <p>A line is known by its position in the journal. An epoch belongs to one opening of a journal,
 * so that a position never names two lines, also when a journal goes back (a disk restored, power
 * lost): the lines it still holds have their old epoch and positions, however they are cut into
 * batches this time, and new lines have a new epoch.
 *
 * <p>The idea is the anti-replay window of RFC 4303 §3.4.3: remember the greatest number and which
 * of those before it arrived. Arrived positions are kept as runs rather than as bits, so that lines
 * lost for ever cost one run and not the window's width, and are evidence until the journal itself
 * is forgotten. State grows with journals and holes, never with calls.
 *
 * <p>The promise of a batch says that all calls decided before it stand at positions up to its last
 * line. It is believed when no line up to there is missing. A hole is waited for until the promise
 * before it lags behind the newest promise of the partition by more than the hold; from then on the
 * promises behind the hole are believed, and the time the hole may hide counts as doubtful.
 *
 * @param node the node's name
 * @param epoch the opening of the node's journal
 * @param spans runs of positions that arrived, ascending, with a hole between two; the first begins
 *     at 0
 * @param forgottenThrough lines up to this one can no longer be told apart; 0 when all can
 * @param forgottenMissing lines given up among those
 * @param headLine position a heartbeat spoke of though that line has not arrived; 0 when none
 * @param headPromiseEpochMillis the promise of that heartbeat
 * @param headAtEpochMillis when the broker took it
 * @param departed whether the node has said that the journal holds nothing that is not here
 * @param firstAtEpochMillis when the broker took the journal's first record
 * @param lastAtEpochMillis when the broker took its last record
 */
record NodeTrack(
    String node,
    long epoch,
    List<Span> spans,
    long forgottenThrough,
    long forgottenMissing,
    long headLine,
    long headPromiseEpochMillis,
    long headAtEpochMillis,
    boolean departed,
    long firstAtEpochMillis,
    long lastAtEpochMillis) {

  /** Most runs kept; the oldest hole is given up when there would be more. */
  static final int MAX_SPANS = 256;

  /** What is known of a line, or of all lines of a batch. */
  enum Verdict {
    /** Never seen. */
    NEW,
    /** Counted before. */
    SEEN,
    /** Too old to be told. */
    FORGOTTEN,
    /** Of a batch: not the same of each line. */
    MIXED
  }

  NodeTrack {
    spans = List.copyOf(spans);
  }

  /**
   * A journal nothing is known of yet. The creation of its epoch is its first promise, since it
   * holds no older call; unless the node's clock runs ahead, which shows as a lesser promise in its
   * first record.
   *
   * @param promise the promise of its first record
   * @param base position of the last line that lies before the epoch, or before the time of the
   *     topic; 0 when there is none
   */
  static NodeTrack first(BatchHeader header, long promise, long base, long atEpochMillis) {
    Span start = new Span(0, base, Math.min(header.nodeEpoch(), promise), 0L);
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

  /** What is known of the lines of a batch. */
  Verdict judge(BatchHeader header) {
    long first = header.linesBefore() + 1;
    long last = header.linesEnd();
    if (first <= forgottenThrough) {
      return last <= forgottenThrough ? Verdict.FORGOTTEN : Verdict.MIXED;
    }
    for (int i = spans.size() - 1; i >= 0; i--) {
      Span span = spans.get(i);
      if (span.last() < first) {
        break;
      }
      if (span.first() <= last) {
        return span.holds(first) && span.holds(last) ? Verdict.SEEN : Verdict.MIXED;
      }
    }
    return Verdict.NEW;
  }

  /** What is known of one line. */
  Verdict judge(long line) {
    if (line <= forgottenThrough) {
      return Verdict.FORGOTTEN;
    }
    return spans.stream().anyMatch(span -> span.holds(line)) ? Verdict.SEEN : Verdict.NEW;
  }

  /** After a batch, whose promise is already bounded by the broker's clock. */
  NodeTrack withBatch(BatchHeader header, long promise, long atEpochMillis) {
    Span arrived = new Span(header.linesBefore() + 1, header.linesEnd(), promise, atEpochMillis);
    List<Span> next = new ArrayList<>(spans.size() + 1);
    long revealedBehind = Long.MAX_VALUE;
    for (Span span : spans) {
      if (arrived.touches(span)) {
        // whatever is missing before the joined run was decided before either was shown
        long revealedAt =
            span.first() <= arrived.first()
                ? span.revealedAtEpochMillis()
                : Math.min(span.revealedAtEpochMillis(), arrived.revealedAtEpochMillis());
        Span joined = arrived.joinedWith(span);
        arrived = new Span(joined.first(), joined.last(), joined.promiseEpochMillis(), revealedAt);
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
            arrived.promiseEpochMillis(),
            Math.min(arrived.revealedAtEpochMillis(), revealedBehind)));
    for (Span span : spans) {
      if (span.first() > arrived.last()) {
        next.add(span);
      }
    }
    boolean saidGoodbyeBehind = departed && header.linesEnd() <= Math.max(lastLine(), headLine);
    return with(next, saidGoodbyeBehind, atEpochMillis);
  }

  /** After a heartbeat, which says how many lines there are. */
  NodeTrack withHeartbeat(BatchHeader header, long promise, long atEpochMillis) {
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
          newer ? Math.max(promise, headPromiseEpochMillis) : headPromiseEpochMillis,
          headLine == 0 ? atEpochMillis : headAtEpochMillis,
          header.departing(),
          firstAtEpochMillis,
          atEpochMillis);
    }
    if (header.departing() && line < Math.max(last, headLine)) {
      // a journal that has gone back knows less than has arrived; what else it may have lost is not
      // known, and it has not departed by that
      return with(new ArrayList<>(spans), departed, atEpochMillis);
    }
    List<Span> next = new ArrayList<>(spans);
    raise(next, line, promise);
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
      raise(next, headLine, headPromiseEpochMillis);
    }
    return new NodeTrack(
        node,
        epoch,
        next,
        forgotten,
        missing,
        headArrived ? 0 : headLine,
        headArrived ? 0 : headPromiseEpochMillis,
        headArrived ? 0 : headAtEpochMillis,
        nowDeparted,
        firstAtEpochMillis,
        atEpochMillis);
  }

  private static void raise(List<Span> spans, long line, long promise) {
    for (int i = 0; i < spans.size(); i++) {
      if (spans.get(i).holds(line)) {
        spans.set(i, spans.get(i).withPromise(promise));
      }
    }
  }

  private long lastLine() {
    return spans.get(spans.size() - 1).last();
  }

  /** The position of the last line without a hole before it. */
  long lines() {
    return spans.get(0).last();
  }

  /** Lines that are missing below the greatest position heard of. */
  long missing() {
    long missing = forgottenMissing;
    for (int i = 1; i < spans.size(); i++) {
      missing += spans.get(i).first() - spans.get(i - 1).last() - 1;
    }
    return missing + Math.max(0, headLine - lastLine());
  }

  /** Whether it has departed, and every line that was heard of has arrived. */
  boolean isFinished() {
    return departed && spans.size() == 1 && headLine == 0 && forgottenMissing == 0;
  }

  /** The greatest promise the node made, whether it is believed yet or not. */
  long newestPromise() {
    long newest = headPromiseEpochMillis;
    for (Span span : spans) {
      newest = Math.max(newest, span.promiseEpochMillis());
    }
    return newest;
  }

  /**
   * The promise that is believed.
   *
   * @param holdUntil the newest promise of the partition less the hold: a hole is waited for while
   *     the promise before it is at least this
   */
  long promise(long holdUntil) {
    long believed = spans.get(0).promiseEpochMillis();
    for (int i = 1; i < spans.size() && believed < holdUntil; i++) {
      believed = Math.max(believed, spans.get(i).promiseEpochMillis());
    }
    return believed < holdUntil ? Math.max(believed, headPromiseEpochMillis) : believed;
  }

  /** The event times that the holes may hide, in ascending order. */
  List<Interval> holes() {
    if (spans.size() == 1 && headLine == 0) {
      return List.of();
    }
    List<Interval> holes = new ArrayList<>(spans.size());
    long promiseBefore = 0;
    for (int i = 0; i < spans.size(); i++) {
      Span span = spans.get(i);
      if (i > 0) {
        holes.add(new Interval(promiseBefore, span.revealedAtEpochMillis()));
      }
      promiseBefore = Math.max(promiseBefore, span.promiseEpochMillis());
    }
    if (headLine > 0) {
      holes.add(new Interval(promiseBefore, headAtEpochMillis));
    }
    return holes;
  }
}
