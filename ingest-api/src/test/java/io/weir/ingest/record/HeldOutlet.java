// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.topics.model.BatchHeader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** An outlet whose answers the test gives, when it wants. Safe for threads. */
final class HeldOutlet implements Outlet {
  private final List<Sent> sent = new ArrayList<>();
  private boolean answersAtOnce;
  private boolean closed;

  /** One batch that was handed over. */
  record Sent(int partition, BatchHeader header, String lines, Consumer<@Nullable Failure> done) {}

  /** An outlet that confirms everything at once. */
  static HeldOutlet open() {
    HeldOutlet outlet = new HeldOutlet();
    outlet.answersAtOnce = true;
    return outlet;
  }

  /** A factory that gives outlets in their order, and then none. */
  static Outlet.Factory inOrder(Queue<Outlet> outlets) {
    return () -> {
      Outlet next = outlets.poll();
      if (next == null) {
        throw new UnavailableException("none", new IllegalStateException());
      }
      return next;
    };
  }

  @Override
  public void send(
      int partition, BatchHeader header, byte[] lines, Consumer<@Nullable Failure> done) {
    boolean answer;
    synchronized (this) {
      sent.add(new Sent(partition, header, new String(lines, StandardCharsets.UTF_8), done));
      answer = answersAtOnce || header.isHeartbeat();
    }
    if (answer) {
      done.accept(null);
    }
  }

  @Override
  public synchronized void close() {
    closed = true;
  }

  synchronized boolean isClosed() {
    return closed;
  }

  synchronized List<Sent> all() {
    return List.copyOf(sent);
  }

  /** What was handed over and is not a heartbeat. */
  List<Sent> batches() {
    return all().stream().filter(each -> !each.header().isHeartbeat()).toList();
  }

  List<Sent> heartbeats() {
    return all().stream().filter(each -> each.header().isHeartbeat()).toList();
  }
}
