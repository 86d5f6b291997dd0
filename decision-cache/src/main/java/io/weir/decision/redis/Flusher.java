// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.api.StatefulRedisConnection;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Sends what waits in the queue: takes as many checks as are there, up to a number of buckets, and
 * makes one script call of them. While all permitted calls are under way the queue grows, and so
 * does the next batch: under load calls become fewer and larger by themselves.
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

  /** Held by who takes more than a first check, so that what is looked at is what is taken. */
  private final ReentrantLock takeLock = new ReentrantLock();

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

  /** Checks that wait to be sent. */
  int checksWaiting() {
    return queue.size();
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
    List<WaitingCheck> batch = new ArrayList<>(config.maxBatchBuckets());
    try {
      while (!closed) {
        inFlight.acquire();
        sendOne(batch);
        batch.clear();
      }
    } catch (InterruptedException closing) {
      // only close() interrupts this thread
      Thread.currentThread().interrupt();
    }
  }

  /** Sends one batch with the permit there is, which ends with the call, or here. */
  private void sendOne(List<WaitingCheck> batch) throws InterruptedException {
    boolean sent = false;
    try {
      takeBatch(batch);
      @Nullable StatefulRedisConnection<byte[], byte[]> connection = link.current();
      if (connection == null) {
        batch.forEach(check -> check.fail(Failures.unavailable(link.reason())));
      } else if (!batch.isEmpty()) {
        ScriptCall call = new ScriptCall(environment, connection, batch);
        sent = true;
        call.send();
      }
    } catch (RuntimeException | Error fault) {
      // this thread alone sends: it must go on, whatever one batch made it throw
      statistics.faultsOf().note("sending", fault);
      batch.forEach(check -> check.fail(Failures.fault(fault)));
    } finally {
      if (!sent) {
        inFlight.release();
      }
    }
  }

  /** Tells those that wait behind calls which the server does not answer. */
  private void failWaiting() {
    List<WaitingCheck> waiting = takeAll();
    waiting.forEach(check -> check.fail(Failures.silent(config.deadline())));
    statistics.countNotSent(waiting.size());
  }

  private void takeBatch(List<WaitingCheck> batch) throws InterruptedException {
    int buckets = 0;
    @Nullable WaitingCheck next = queue.take();
    while (next != null) {
      if (next.trySend()) {
        batch.add(next);
        buckets += next.keys().length;
      } else {
        statistics.countNotSent(1);
      }
      next = pollWithin(config.maxBatchBuckets() - buckets);
    }
  }

  /** Takes the next check when it asks no more buckets than so many; null when none does. */
  private @Nullable WaitingCheck pollWithin(int buckets) {
    takeLock.lock();
    try {
      WaitingCheck next = queue.peek();
      return next != null && next.keys().length <= buckets ? queue.poll() : null;
    } finally {
      takeLock.unlock();
    }
  }

  private List<WaitingCheck> takeAll() {
    List<WaitingCheck> all = new ArrayList<>();
    takeLock.lock();
    try {
      queue.drainTo(all);
    } finally {
      takeLock.unlock();
    }
    return all;
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
    takeAll().forEach(check -> check.fail(Failures.unavailable("the cache is closed")));
  }
}
