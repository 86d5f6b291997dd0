// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.api.StatefulRedisConnection;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/**
 * Sends what waits in the queue: takes as many checks as are there, up to a batch, and makes one
 * script call of them. While all permitted calls are under way the queue grows, and so does the
 * next batch: under load calls become fewer and larger by themselves.
 */
final class Flusher implements AutoCloseable {
  private static final long JOIN_MILLIS = 2_000;

  private final RedisCacheConfig config;
  private final RedisLink link;
  private final CacheStatistics statistics;
  private final ReplyWatch watch;
  private final ScriptCall.Environment environment;
  private final BlockingQueue<WaitingCheck> queue;
  private final Semaphore inFlight;
  private final Thread thread;
  private volatile boolean closed;

  Flusher(
      RedisCacheConfig config,
      RedisScript script,
      RedisLink link,
      CacheStatistics statistics,
      Suspicion suspicion) {
    this.config = config;
    this.link = link;
    this.statistics = statistics;
    this.watch = new ReplyWatch(config, link, statistics, this::failWaiting);
    this.queue = new ArrayBlockingQueue<>(config.queueCapacity());
    this.inFlight = new Semaphore(config.maxInFlight());
    this.environment =
        new ScriptCall.Environment(
            config, script, link, statistics, suspicion, watch, inFlight::release);
    this.thread = FlusherThread.of(this::run);
  }

  void start() {
    thread.start();
  }

  /** Looks for the answers of all that goes over the connection. */
  ReplyWatch watch() {
    return watch;
  }

  /** Queues a check; false when the queue is full. */
  boolean offer(WaitingCheck check) {
    boolean queued = queue.offer(check);
    if (closed) {
      check.fail(Failures.unavailable("the cache is closed"));
    }
    return queued;
  }

  private void run() {
    List<WaitingCheck> batch = new ArrayList<>(config.maxBatch());
    try {
      while (!closed) {
        inFlight.acquire();
        takeBatch(batch);
        @Nullable StatefulRedisConnection<byte[], byte[]> connection = link.current();
        if (batch.isEmpty()) {
          inFlight.release();
        } else if (connection == null) {
          inFlight.release();
          batch.forEach(check -> check.fail(Failures.unavailable(link.reason())));
        } else {
          new ScriptCall(environment, connection, batch).send();
        }
        batch.clear();
      }
    } catch (InterruptedException closing) {
      // only close() interrupts this thread
      Thread.currentThread().interrupt();
    }
  }

  /** Tells those that wait behind calls which the server does not answer. */
  private void failWaiting() {
    List<WaitingCheck> waiting = new ArrayList<>();
    queue.drainTo(waiting);
    waiting.forEach(check -> check.fail(Failures.silent(config.deadline())));
    statistics.countNotSent(waiting.size());
  }

  private void takeBatch(List<WaitingCheck> batch) throws InterruptedException {
    batch.add(queue.take());
    queue.drainTo(batch, config.maxBatch() - 1);
    batch.removeIf(
        check -> {
          boolean nobodyWaits = !check.trySend();
          if (nobodyWaits) {
            statistics.countNotSent(1);
          }
          return nobodyWaits;
        });
  }

  @Override
  public void close() {
    closed = true;
    thread.interrupt();
    try {
      thread.join(JOIN_MILLIS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
    List<WaitingCheck> left = new ArrayList<>();
    queue.drainTo(left);
    left.forEach(check -> check.fail(Failures.unavailable("the cache is closed")));
  }
}
