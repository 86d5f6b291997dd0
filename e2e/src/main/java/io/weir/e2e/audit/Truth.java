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

/** What the callers of one round were told. Safe for threads. */
public final class Truth {
  /** The error of a call that the journal has no room for. */
  public static final String FULL = "503 journal full";

  /** The error of a call that could not be written to the journal. */
  public static final String NOT_WRITTEN = "503 journal not written";

  private final Set<Told> told = ConcurrentHashMap.newKeySet();
  private final Map<String, LongAdder> tries = new ConcurrentHashMap<>();
  private final Map<String, LongAdder> errors = new ConcurrentHashMap<>();
  private final LongAdder answered = new LongAdder();
  private final LongAdder dropped = new LongAdder();
  private final LongAdder untold = new LongAdder();
  private final LongAdder failed = new LongAdder();
  private final LongAdder reports = new LongAdder();
  private final LongAdder mayBeGone = new LongAdder();
  private final LongAdder cacheLosses = new LongAdder();
  private final Set<String> doubtful = ConcurrentHashMap.newKeySet();
  private final Queue<String> wrong = new ConcurrentLinkedQueue<>();
  private final Queue<String> notes = new ConcurrentLinkedQueue<>();

  /** A verdict that a caller got; a repeated call may get two. */
  record Told(String client, String id, boolean allowed) {}

  /** A call is about to be made. */
  void begins(String client) {
    tries.computeIfAbsent(client, unknown -> new LongAdder()).increment();
  }

  /** A call got its verdict, and the word that it is recorded. */
  void answered(String client, String id, boolean allowed) {
    answered.increment();
    told.add(new Told(client, id, allowed));
  }

  /** A call got its verdict, and the word that it is not recorded. */
  void dropped() {
    answered.increment();
    dropped.increment();
  }

  /**
   * A try got no verdict.
   *
   * @param error why, in words
   * @param mayBeRecorded whether the call may have been recorded all the same
   */
  void untold(String error, boolean mayBeRecorded) {
    errors.computeIfAbsent(error, unknown -> new LongAdder()).increment();
    if (mayBeRecorded) {
      untold.increment();
    }
  }

  /** A call got no verdict at any try. */
  void failed() {
    failed.increment();
  }

  /** A report was answered while calls were made; null when it can be right. */
  void reported(@Nullable String wrongReport) {
    reports.increment();
    if (wrongReport != null) {
      wrong.add(wrongReport);
    }
  }

  /** Something was told that is not so. */
  public void wrong(String what) {
    wrong.add(what);
  }

  /** Calls answered since {@link #answered} was so many, with those on their way to callers. */
  public long answeredSince(long before) {
    return answered.sum() - before + Callers.THREADS;
  }

  /**
   * A disk is lost, and with it calls that were answered.
   *
   * @param node whose journal cannot prove any more that nothing is missing
   * @param atMost how many calls may be gone
   */
  public void goneWithDisk(String node, long atMost) {
    doubtful.add(node);
    mayBeGone.add(atMost);
  }

  /**
   * The cache has lost charges: its buckets may admit one capacity more until they are corrected.
   */
  public void cacheLost() {
    cacheLosses.increment();
  }

  /** Something worth knowing about this round. */
  public void note(String what) {
    notes.add(what);
  }

  /** Calls made so far for a client: no report can tell more. */
  long tries(String client) {
    LongAdder of = tries.get(client);
    return of == null ? 0 : of.sum();
  }

  Set<Told> told() {
    return Set.copyOf(told);
  }

  Set<String> clients() {
    return Set.copyOf(tries.keySet());
  }

  /** Tries answered 200 or 429. */
  public long answered() {
    return answered.sum();
  }

  /** Those of them that were answered as not recorded. */
  public long droppedCount() {
    return dropped.sum();
  }

  /** Tries without a verdict that may be recorded all the same. */
  public long untoldCount() {
    return untold.sum();
  }

  /** Calls without a verdict after all their tries. */
  public long failedCount() {
    return failed.sum();
  }

  /** Tries that ended in this error. */
  public long errors(String error) {
    LongAdder of = errors.get(error);
    return of == null ? 0 : of.sum();
  }

  /** Tries without a verdict, by error. */
  public Map<String, Long> errors() {
    Map<String, Long> counts = new TreeMap<>();
    errors.forEach((error, count) -> counts.put(error, count.sum()));
    return counts;
  }

  /** Answered calls that may be gone with a disk. */
  long mayBeGoneCount() {
    return mayBeGone.sum();
  }

  /** How often the cache has lost charges. */
  long cacheLosses() {
    return cacheLosses.sum();
  }

  /** Nodes that have lost a disk. */
  Set<String> doubtful() {
    return Set.copyOf(doubtful);
  }

  /** Reports answered meanwhile. */
  long reports() {
    return reports.sum();
  }

  /** What was told and cannot be so, in words. */
  List<String> wrong() {
    return List.copyOf(wrong);
  }

  public List<String> notes() {
    return List.copyOf(notes);
  }
}
