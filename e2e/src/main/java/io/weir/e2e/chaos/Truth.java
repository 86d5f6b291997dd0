// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** What the callers of one round were told. Safe for threads. */
final class Truth {
  private final Set<Told> told = ConcurrentHashMap.newKeySet();
  private final Map<String, LongAdder> tries = new ConcurrentHashMap<>();
  private final LongAdder answered = new LongAdder();
  private final LongAdder untold = new LongAdder();
  private final LongAdder reports = new LongAdder();
  private final Queue<String> wrongReports = new ConcurrentLinkedQueue<>();

  /** A verdict that a caller got; a repeated call may get two. */
  record Told(String client, String id, boolean allowed) {}

  /** A call is about to be made. */
  void begins(String client) {
    tries.computeIfAbsent(client, unknown -> new LongAdder()).increment();
  }

  /** A call got its verdict. */
  void answered(String client, String id, boolean allowed) {
    answered.increment();
    told.add(new Told(client, id, allowed));
  }

  /** A call got no verdict: it may have been recorded, or not. */
  void untold() {
    untold.increment();
  }

  /** A report was answered while calls were made; null when it can be right. */
  void reported(@Nullable String wrong) {
    reports.increment();
    if (wrong != null) {
      wrongReports.add(wrong);
    }
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

  /** Calls answered 200 or 429, repetitions included. */
  long answered() {
    return answered.sum();
  }

  /** Calls without an answer, or answered otherwise. */
  long untoldCount() {
    return untold.sum();
  }

  /** Reports answered meanwhile. */
  long reports() {
    return reports.sum();
  }

  /** Those of them that cannot be right, in words. */
  List<String> wrongReports() {
    return List.copyOf(wrongReports);
  }
}
