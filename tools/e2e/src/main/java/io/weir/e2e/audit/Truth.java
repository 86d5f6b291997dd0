// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.audit;

import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** The responses that the callers of one round received. Thread-safe. */
public final class Truth {
  /** The error of a call when the journal is full. */
  public static final String FULL = "503 journal full";

  /** The error of a call that could not be written to the journal. */
  public static final String NOT_WRITTEN = "503 journal not written";

  private final Set<Verdict> verdicts = ConcurrentHashMap.newKeySet();
  private final Map<String, LongAdder> tries = new ConcurrentHashMap<>();
  private final Map<String, LongAdder> errors = new ConcurrentHashMap<>();
  private final LongAdder answered = new LongAdder();
  private final LongAdder dropped = new LongAdder();
  private final LongAdder withoutVerdict = new LongAdder();
  private final LongAdder failed = new LongAdder();
  private final LongAdder reports = new LongAdder();
  private final LongAdder mayBeGone = new LongAdder();
  private final LongAdder cacheLosses = new LongAdder();
  private final Set<String> doubtful = ConcurrentHashMap.newKeySet();
  private final Queue<String> wrong = new ConcurrentLinkedQueue<>();
  private final Queue<String> notes = new ConcurrentLinkedQueue<>();

  /** A verdict that a caller received. A call that was sent again may receive two verdicts. */
  record Verdict(String client, String id, boolean allowed) {}

  /** Records that a caller is about to send a call. */
  void begins(String client) {
    tries.computeIfAbsent(client, unknown -> new LongAdder()).increment();
  }

  /** Records a response with a verdict on a call that was recorded. */
  void answered(String client, String id, boolean allowed) {
    answered.increment();
    verdicts.add(new Verdict(client, id, allowed));
  }

  /** Records a response with a verdict on a call that was not recorded. */
  void dropped() {
    answered.increment();
    dropped.increment();
  }

  /**
   * Records that one try of a call got no verdict.
   *
   * @param error a description of the reason
   * @param mayBeRecorded whether the call may nevertheless be recorded
   */
  void withoutVerdict(String error, boolean mayBeRecorded) {
    errors.computeIfAbsent(error, unknown -> new LongAdder()).increment();
    if (mayBeRecorded) {
      withoutVerdict.increment();
    }
  }

  /** Records that no try of a call got a verdict. */
  void failed() {
    failed.increment();
  }

  /**
   * Records a report that was returned during calls.
   *
   * @param wrongReport the reason why the report cannot be correct; null if it can
   */
  void reported(@Nullable String wrongReport) {
    reports.increment();
    if (wrongReport != null) {
      wrong.add(wrongReport);
    }
  }

  /** Records a wrong response. */
  public void wrong(String what) {
    wrong.add(what);
  }

  /**
   * Returns the number of calls answered since {@link #answered} returned {@code before}, including
   * calls with a response in flight.
   */
  public long answeredSince(long before) {
    return answered.sum() - before + Callers.THREADS;
  }

  /**
   * Records that a node lost a disk that contained answered calls.
   *
   * @param node the node that lost the disk; its journal can no longer prove that no call is
   *     missing
   * @param atMost maximum number of lost calls
   */
  public void goneWithDisk(String node, long atMost) {
    doubtful.add(node);
    mayBeGone.add(atMost);
  }

  /**
   * Records that the cache has lost charges. Until the correction, each bucket may admit its
   * capacity once more.
   */
  public void cacheLost() {
    cacheLosses.increment();
  }

  /** Adds a remark about this round. */
  public void note(String what) {
    notes.add(what);
  }

  /**
   * Returns the number of calls of a client that were sent so far. No report may show more calls
   * than this number.
   */
  long tries(String client) {
    LongAdder of = tries.get(client);
    return of == null ? 0 : of.sum();
  }

  Set<Verdict> verdicts() {
    return Set.copyOf(verdicts);
  }

  Set<String> clients() {
    return Set.copyOf(tries.keySet());
  }

  /** Returns the number of tries answered with 200 or 429. */
  public long answered() {
    return answered.sum();
  }

  /**
   * Returns the number of calls that got a verdict but, according to the response, were not
   * recorded. {@link #answered} includes these calls.
   */
  public long droppedCount() {
    return dropped.sum();
  }

  /**
   * Returns the maximum number of calls that got a verdict but were not recorded. The result is the
   * sum of {@link #droppedCount}, calls without a verdict, and calls with a response in flight.
   */
  public long droppedAtMost() {
    return dropped.sum() + withoutVerdict.sum() + Callers.THREADS;
  }

  /** Returns the number of tries without a verdict whose call may nevertheless be recorded. */
  public long withoutVerdictCount() {
    return withoutVerdict.sum();
  }

  /** Returns the number of calls without a verdict after all their tries. */
  public long failedCount() {
    return failed.sum();
  }

  /** Returns the number of tries that ended in the given error. */
  public long errors(String error) {
    LongAdder of = errors.get(error);
    return of == null ? 0 : of.sum();
  }

  /** Returns the numbers of tries without a verdict, by error. */
  public Map<String, Long> errors() {
    Map<String, Long> counts = new TreeMap<>();
    errors.forEach((error, count) -> counts.put(error, count.sum()));
    return counts;
  }

  /** Returns the maximum number of answered calls that were lost with a disk. */
  long mayBeGoneCount() {
    return mayBeGone.sum();
  }

  /** Returns the number of times that the cache has lost charges. */
  long cacheLosses() {
    return cacheLosses.sum();
  }

  /** Returns the nodes that have lost a disk. */
  Set<String> doubtful() {
    return Set.copyOf(doubtful);
  }

  /** Returns the number of reports that aggregators returned during the round. */
  long reports() {
    return reports.sum();
  }

  /** Returns descriptions of the responses that cannot be correct. */
  List<String> wrong() {
    return List.copyOf(wrong);
  }

  public List<String> notes() {
    return List.copyOf(notes);
  }
}
