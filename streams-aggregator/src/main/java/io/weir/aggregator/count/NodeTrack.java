// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.topics.model.BatchHeader;
import java.util.ArrayList;
import java.util.List;

/**
 * What arrived from one journal (node and epoch) in one partition. It answers three questions: is
 * this batch new, what has the node promised, which of its calls may be missing.
 *
 * <p>The idea is the anti-replay window of RFC 4303 §3.4.3: remember the greatest number and which
 * of those before it arrived. Arrived numbers are kept as runs rather than as bits, so that a batch
 * lost for ever costs one run and not the window's width, and is evidence until the journal itself
 * is forgotten. State grows with journals and holes, never with calls.
 *
 * <p>The promise of batch s says that all calls decided before it stand in batches up to s. It is
 * believed when no batch up to s is missing. A hole is waited for until the promise before it lags
 * behind the newest promise of the partition by more than the hold; from then on the promises
 * behind the hole are believed, and the time the hole may hide counts as doubtful.
 *
 * @param node the node's name
 * @param epoch the node's journal
 * @param spans runs of numbers that arrived, ascending, with a hole between two; the first begins
 *     at 0
 * @param forgottenThrough batches up to this one can no longer be told apart; 0 when all can
 * @param forgottenMissing batches given up among those
 * @param headSequence number a heartbeat spoke of though that batch has not arrived; 0 when none
 * @param headPromiseEpochMillis the promise of that heartbeat
 * @param headAtEpochMillis when the broker took it
 * @param departed whether the newest word was that the node stopped cleanly
 * @param firstAtEpochMillis when the broker took the journal's first record
 * @param lastAtEpochMillis when the broker took its last record
 */
record NodeTrack(
    String node,
    long epoch,
    List<Span> spans,
    long forgottenThrough,
    long forgottenMissing,
    long headSequence,
    long headPromiseEpochMillis,
    long headAtEpochMillis,
    boolean departed,
    long firstAtEpochMillis,
    long lastAtEpochMillis) {

  /** Most runs kept; the oldest hole is given up when there would be more. */
  static final int MAX_SPANS = 256;

  /** What is known of a batch number. */
  enum Verdict {
    /** Never seen. */
    NEW,
    /** Counted before. */
    SEEN,
    /** Too old to be told. */
    FORGOTTEN
  }

  NodeTrack {
    spans = List.copyOf(spans);
  }

  /**
   * A journal nothing is known of yet. Its creation is its first promise, since it holds no older
   * call; unless the node's clock runs ahead, which shows as a lesser promise in its first record.
   *
   * @param promise the promise of its first record
   * @param base number of the last batch that lies before the time of the topic; 0 when the topic
   *     is known from its beginning
   */
  static NodeTrack first(BatchHeader header, long promise, long base, long atEpochMillis) {
    Span start = new Span(0, base, Math.min(header.nodeEpoch(), promise), header.linesBefore(), 0L);
    return new NodeTrack(
        header.node(),
        header.nodeEpoch(),
        List.of(start),
        base,
        0,
        0,
        0,
        0,
        false,
        atEpochMillis,
        atEpochMillis);
  }

  Verdict judge(long sequence) {
    if (sequence <= forgottenThrough) {
      return Verdict.FORGOTTEN;
    }
    for (int i = spans.size() - 1; i >= 0; i--) {
      Span span = spans.get(i);
      if (span.holds(sequence)) {
        return Verdict.SEEN;
      }
      if (span.last() < sequence) {
        return Verdict.NEW;
      }
    }
    return Verdict.NEW;
  }

  /** After a new batch, whose promise is already bounded by the broker's clock. */
  NodeTrack withBatch(BatchHeader header, long promise, long atEpochMillis) {
    long sequence = header.batchSequence();
    long linesEnd = header.linesBefore() + header.count();
    List<Span> next = new ArrayList<>(spans);
    int before = next.size() - 1;
    while (next.get(before).last() > sequence) {
      before--;
    }
    Span behind = before + 1 < next.size() ? next.get(before + 1) : null;
    if (next.get(before).last() + 1 == sequence) {
      Span grown = next.get(before).extendedUp(promise, linesEnd);
      boolean closesHole = behind != null && behind.first() == sequence + 1;
      next.set(before, closesHole ? grown.joinedWith(next.remove(before + 1)) : grown);
    } else if (behind != null && behind.first() == sequence + 1) {
      next.set(before + 1, behind.extendedDown(atEpochMillis));
    } else {
      long revealedAt =
          behind == null ? atEpochMillis : Math.min(atEpochMillis, behind.revealedAtEpochMillis());
      next.add(before + 1, new Span(sequence, sequence, promise, linesEnd, revealedAt));
    }
    return with(next, header.departing(), atEpochMillis);
  }

  /** After a heartbeat, which repeats the number of the last batch sealed. */
  NodeTrack withHeartbeat(BatchHeader header, long promise, long atEpochMillis) {
    long sequence = header.batchSequence();
    if (sequence > spans.get(spans.size() - 1).last()) {
      boolean newer = sequence >= headSequence;
      return new NodeTrack(
          node,
          epoch,
          spans,
          forgottenThrough,
          forgottenMissing,
          newer ? sequence : headSequence,
          newer ? Math.max(promise, headPromiseEpochMillis) : headPromiseEpochMillis,
          headSequence == 0 ? atEpochMillis : headAtEpochMillis,
          header.departing(),
          firstAtEpochMillis,
          atEpochMillis);
    }
    List<Span> next = new ArrayList<>(spans);
    raise(next, sequence, promise);
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
    boolean headArrived = headSequence <= next.get(next.size() - 1).last();
    if (headArrived && headSequence > 0) {
      raise(next, headSequence, headPromiseEpochMillis);
    }
    return new NodeTrack(
        node,
        epoch,
        next,
        forgotten,
        missing,
        headArrived ? 0 : headSequence,
        headArrived ? 0 : headPromiseEpochMillis,
        headArrived ? 0 : headAtEpochMillis,
        nowDeparted,
        firstAtEpochMillis,
        atEpochMillis);
  }

  private static void raise(List<Span> spans, long sequence, long promise) {
    for (int i = 0; i < spans.size(); i++) {
      if (spans.get(i).holds(sequence)) {
        spans.set(i, spans.get(i).withPromise(promise));
      }
    }
  }

  /** The last batch without a hole before it. */
  long contiguous() {
    return spans.get(0).last();
  }

  /** The position of the last line without a hole before it. */
  long lines() {
    return spans.get(0).linesEnd();
  }

  /** Batches that are missing below the greatest number heard of. */
  long missing() {
    long missing = forgottenMissing;
    for (int i = 1; i < spans.size(); i++) {
      missing += spans.get(i).first() - spans.get(i - 1).last() - 1;
    }
    long last = spans.get(spans.size() - 1).last();
    return missing + Math.max(0, headSequence - last);
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
    if (spans.size() == 1 && headSequence == 0) {
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
    if (headSequence > 0) {
      holes.add(new Interval(promiseBefore, headAtEpochMillis));
    }
    return holes;
  }
}
