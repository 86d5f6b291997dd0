// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import io.weir.topics.model.BatchHeader;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A producer whose results the test controls. Thread-safe. */
final class HeldProducer implements BatchProducer {
  private final List<Sent> sent = new ArrayList<>();
  private boolean answersAtOnce;
  private boolean closed;

  /** One batch or heartbeat that was sent. */
  @SuppressWarnings("ArrayRecordComponent") // tests compare the bytes explicitly
  record Sent(int partition, BatchHeader header, byte[] lines, Consumer<@Nullable Failure> done) {}

  /** Returns a producer that acknowledges everything at once. */
  static HeldProducer open() {
    HeldProducer producer = new HeldProducer();
    producer.answersAtOnce = true;
    return producer;
  }

  /** Returns a factory that creates the given producers in order, and then none. */
  static BatchProducer.Factory inOrder(Queue<BatchProducer> producers) {
    return () -> {
      BatchProducer next = producers.poll();
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
      sent.add(new Sent(partition, header, lines, done));
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

  /** Returns the batches sent, without heartbeats. */
  List<Sent> batches() {
    return all().stream().filter(each -> !each.header().isHeartbeat()).toList();
  }

  List<Sent> heartbeats() {
    return all().stream().filter(each -> each.header().isHeartbeat()).toList();
  }
}
