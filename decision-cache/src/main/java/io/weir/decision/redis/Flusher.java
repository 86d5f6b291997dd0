// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.api.StatefulRedisConnection;
import io.weir.decision.deny.DenyCache;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Sends the checks in the queue: takes as many as are waiting, up to a number of buckets, and makes
 * one script call of them. While as many calls as permitted are in flight the queue grows, and so
 * does the next batch: under load, calls become fewer and larger by themselves. Thread-safe.
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

  /**
   * Held while more than a first check is taken, so that the check that was peeked at is the one
   * that is taken.
   */
  private final ReentrantLock takeLock = new ReentrantLock();

  private final Thread thread;
  private volatile boolean closed;

  Flusher(
      RedisCacheConfig config,
      RedisScript script,
      RedisLink link,
      CacheStatistics statistics,
      ColdSignal coldSignal,
      DenyCache denyCache) {
    this.config = config;
    this.link = link;
    this.statistics = statistics;
    this.watch = new ReplyWatch(config, link, statistics, this::failWaiting);
    this.queue = new ArrayBlockingQueue<>(config.queueCapacity());
    this.inFlight = new Semaphore(config.maxInFlight());
    this.environment =
        new ScriptCall.Environment(
            config, script, link, statistics, coldSignal, denyCache, watch, inFlight::release);
    this.thread = FlusherThread.of(this::run);
  }

  void start() {
    thread.start();
  }

  /** Returns the watch over the replies to everything that is sent over the connection. */
  ReplyWatch watch() {
    return watch;
  }

  /** Returns the number of checks waiting to be sent. */
  int checksWaiting() {
    return queue.size();
  }

  /** Adds a check to the queue. Returns false if the queue is full. */
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

  /**
   * Sends one batch with the permit already held, which the end of the call releases, or this
   * method if no call is made.
   */
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
      // only this thread sends: it must continue, whatever one batch makes it throw
      statistics.faultsOf().note("sending", fault);
      batch.forEach(check -> check.fail(Failures.fault(fault)));
    } finally {
      if (!sent) {
        inFlight.release();
      }
    }
  }

  /** Fails the checks that wait behind calls which the server does not answer. */
  private void failWaiting() {
    List<WaitingCheck> waiting = takeAll();
    waiting.forEach(check -> check.fail(Failures.silent(config.deadline())));
    statistics.checksNotSent.increment(waiting.size());
  }

  private void takeBatch(List<WaitingCheck> batch) throws InterruptedException {
    int buckets = 0;
    @Nullable WaitingCheck next = queue.take();
    while (next != null) {
      if (next.trySend()) {
        batch.add(next);
        buckets += next.keys().length;
      } else {
        statistics.checksNotSent.increment();
      }
      next = pollWithin(config.maxBatchBuckets() - buckets);
    }
  }

  /**
   * Takes the next check if it has at most the given number of buckets. Returns null if there is
   * none or it has more.
   */
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
