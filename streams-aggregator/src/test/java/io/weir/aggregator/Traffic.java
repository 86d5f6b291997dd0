// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import io.weir.limits.BucketKey;
import io.weir.limits.TokenBucketLimit;
import io.weir.testing.Await;
import io.weir.topics.catalog.Topics;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.Stamp;
import io.weir.topics.model.UsageRow;
import io.weir.topics.wire.LedgerRowCodec;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * One ingest node that sends a batch for a client of each partition, repeatedly, until its final
 * heartbeat.
 */
final class Traffic implements AutoCloseable {
  private static final int CALLS_PER_BATCH = 10;
  private static final long PAUSE_MILLIS = 50;
  private static final long MICROS_PER_TOKEN = 10_000_000;
  private static final TokenBucketLimit LIMIT =
      new TokenBucketLimit(1_000_000, 1, MICROS_PER_TOKEN);

  private final Broker broker;
  private final String node;
  private final List<String> clients = new ArrayList<>();
  private final long startEpochMillis = System.currentTimeMillis() / 2_000 * 2_000;
  private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
  private final ScheduledFuture<?> writing;
  private volatile long batches;

  /**
   * Begins to write.
   *
   * @param node names the node, and its clients
   */
  Traffic(Broker broker, int partitions, String node) {
    this.broker = broker;
    this.node = node;
    for (int partition = 0; partition < partitions; partition++) {
      clients.add(Calls.clientOf(node, partition, partitions));
    }
    writing = timer.scheduleWithFixedDelay(this::write, 0, PAUSE_MILLIS, TimeUnit.MILLISECONDS);
  }

  private void write() {
    long sequence = batches + 1;
    long before = (sequence - 1) * CALLS_PER_BATCH;
    long now = System.currentTimeMillis();
    for (int partition = 0; partition < clients.size(); partition++) {
      List<CallEvent> calls = new ArrayList<>();
      for (int i = 0; i < CALLS_PER_BATCH; i++) {
        calls.add(call(sequence + "-" + i, clients.get(partition), before + i + 1, now));
      }
      broker.send(
          partition,
          new BatchHeader(node, 1, sequence, calls.size(), now, before, false),
          Calls.value(calls));
    }
    broker.flush();
    batches = sequence;
  }

  /** The n-th call of a client, which has called faster than its bucket refills from the start. */
  private CallEvent call(String id, String client, long number, long now) {
    long fullAtMicros = startEpochMillis * 1_000 + number * MICROS_PER_TOKEN;
    Stamp stamp = new Stamp(1, 0, number, Math.max(fullAtMicros, now * 1_000));
    return new CallEvent(
        id,
        false,
        client,
        "GET /items",
        CallEvent.DEFAULT_METER,
        1,
        true,
        DecidedBy.CACHE,
        null,
        1,
        now,
        null,
        List.of(new Charge(BucketKey.of("burst", client).text(), 1, LIMIT, stamp)));
  }

  private void promise(boolean departing) {
    for (int partition = 0; partition < clients.size(); partition++) {
      broker.send(
          partition,
          new BatchHeader(node, 1, batches, 0, System.currentTimeMillis(), perClient(), departing),
          new byte[0]);
    }
    broker.flush();
  }

  /** Client n is one of partition n. */
  List<String> clients() {
    return clients;
  }

  /** The query of everything a client has called. */
  String query(String client) {
    return "/v1/usage?window=total&client="
        + client
        + "&from="
        + Instant.ofEpochMilli(startEpochMillis);
  }

  /** Calls of each client so far. */
  long perClient() {
    return batches * CALLS_PER_BATCH;
  }

  /** Ends writing; promises go on, so that windows close. */
  void stop() throws Exception {
    timer.submit(() -> writing.cancel(false)).get();
    var unused = timer.scheduleWithFixedDelay(() -> promise(false), 0, 200, TimeUnit.MILLISECONDS);
  }

  /** Waits until the ledger says of every client what was written. */
  void awaitLedger() throws Exception {
    Await.until("the ledger to be exact", () -> isExact(ledger()));
  }

  private boolean isExact(Map<String, Long> ledger) {
    return clients.stream().allMatch(client -> ledger.getOrDefault(client, 0L) == perClient());
  }

  private Map<String, Long> ledger() throws Exception {
    Map<String, Long> quantities = new HashMap<>();
    for (ConsumerRecord<byte[], byte[]> record : broker.read(Topics.LEDGER)) {
      LedgerRow row = LedgerRowCodec.decode(record.value());
      if (row instanceof UsageRow usage && clients.contains(usage.key().client())) {
        quantities.merge(usage.key().client(), usage.count().quantity(), Long::sum);
      }
    }
    quantities.forEach(
        (client, quantity) -> {
          if (quantity > perClient()) {
            throw new AssertionError(client + " was billed " + quantity + " of " + perClient());
          }
        });
    return quantities;
  }

  /** Sends the final heartbeat, so that no window waits for this node. */
  @Override
  public void close() {
    timer.shutdownNow();
    promise(true);
  }
}
