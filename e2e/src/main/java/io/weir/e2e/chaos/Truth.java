// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** What the callers of one round were told. Safe for threads. */
final class Truth {
  private final Set<Told> told = ConcurrentHashMap.newKeySet();
  private final Map<String, Boolean> clients = new ConcurrentHashMap<>();
  private final LongAdder answered = new LongAdder();
  private final LongAdder untold = new LongAdder();

  /** A verdict that a caller got; a repeated call may get two. */
  record Told(String client, String id, boolean allowed) {}

  void answered(String client, String id, boolean allowed) {
    clients.put(client, true);
    answered.increment();
    told.add(new Told(client, id, allowed));
  }

  /** A call without a verdict: it may have been recorded, or not. */
  void untold(String client) {
    clients.put(client, true);
    untold.increment();
  }

  Set<Told> told() {
    return Set.copyOf(told);
  }

  Set<String> clients() {
    return Set.copyOf(clients.keySet());
  }

  /** Calls answered 200 or 429, repetitions included. */
  long answered() {
    return answered.sum();
  }

  /** Calls without an answer, or answered otherwise. */
  long untold() {
    return untold.sum();
  }
}
