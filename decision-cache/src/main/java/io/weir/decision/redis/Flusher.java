// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.api.StatefulRedisConnection;
import io.weir.decision.deny.DenyCache;
import io.weir.limits.check.Decision;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Sends the queued checks in batches. One script call contains all waiting checks, up to a maximum
 * number of buckets. While the maximum number of calls is in flight, checks wait in the queue. The
 * script calls therefore contain more checks under load than without load. Thread-safe.
 *
 * <p>Single checks have priority over checks of batch requests. Large batch requests therefore do
 * not delay other callers. One in {@value #TURNS} calls begins with checks of batch requests;
 * otherwise single checks could starve the batch requests. Both queues are first in, first out.
 *
 * <p>The thread that reads the connection also sends the calls. A check is therefore passed between
 * threads only once. After a reply, the same thread sends the next call.
 */
final class Flusher implements AutoCloseable {
  /** Number of times that this class checks a caller's timeout before the timeout elapses. */
  private static final int LOOKS = 20;

  /** One in this number of calls begins with checks of batch requests. */
  private static final int TURNS = 4;

  private static final Duration MIN_LOOK = Duration.ofMillis(1);
  private static final Duration MAX_LOOK = Duration.ofMillis(50);

  private final RedisCacheConfig config;
  private final RedisLink link;
  private final CacheStatistics statistics;
  private final ReplyWatch watch;
  private final ScriptCall.Environment environment;
  private final Duration lookPause;
  private final BlockingQueue<WaitingCheck> singles;
  private final BlockingQueue<WaitingCheck> batched;

  /** Number of calls that were built from the queues. Guarded by {@code takeLock}. */
  private int turn;

  private final Set<ScriptCall> inFlight = ConcurrentHashMap.newKeySet();
  private final AtomicInteger permits;

  /** Whether sending the waiting checks is scheduled or in progress. */
  private final AtomicBoolean sending = new AtomicBoolean();

  private final AtomicBoolean looking = new AtomicBoolean();

  /**
   * Lock that is held while checks are taken from a queue. With the lock, {@code poll} returns the
   * check that {@code peek} has returned.
   */
  private final ReentrantLock takeLock = new ReentrantLock();

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
    this.singles = new ArrayBlockingQueue<>(config.queueCapacity());
    this.batched = new ArrayBlockingQueue<>(config.queueCapacity());
    this.permits = new AtomicInteger(config.maxInFlight());
    this.environment =
        new ScriptCall.Environment(
            config, script, link, statistics, coldSignal, denyCache, watch, this::ended);
    this.lookPause = lookPause(config.callerTimeout());
  }

  private static Duration lookPause(Duration callerTimeout) {
    Duration part = callerTimeout.dividedBy(LOOKS);
    if (part.compareTo(MIN_LOOK) < 0) {
      return MIN_LOOK;
    }
    return part.compareTo(MAX_LOOK) > 0 ? MAX_LOOK : part;
  }

  /** Returns the watch for all replies on the connection. */
  ReplyWatch watch() {
    return watch;
  }

  /** Returns the number of checks that wait to be sent. */
  int checksWaiting() {
    return singles.size() + batched.size();
  }

  private boolean isEmpty() {
    return singles.isEmpty() && batched.isEmpty();
  }

  /**
   * Adds a check to its queue. Returns false if the queue is full; the caller must then complete
   * the check.
   */
  boolean offer(WaitingCheck check) {
    boolean queued = (check.isInBatch() ? batched : singles).offer(check);
    if (closed) {
      boolean unused = check.answer(notSent());
      return true;
    }
    if (queued) {
      sendSoon();
      lookSoon();
    }
    return queued;
  }

  private void sendSoon() {
    if (!sending.get() && sending.compareAndSet(false, true)) {
      try {
        link.reader().execute(this::send);
      } catch (RejectedExecutionException closing) {
        // the thread ends only when the link is closed, after close()
        sending.set(false);
      } catch (RuntimeException | Error fault) {
        // the thread could not be started; the next check tries again
        sending.set(false);
        statistics.faultsOf().note("sending", fault);
      }
    }
  }

  /** Sends waiting checks until no check waits or no further call is permitted. */
  private void send() {
    try {
      while (!closed && !isEmpty() && tryPermit()) {
        sendOne();
      }
    } finally {
      sending.set(false);
    }
    // the thread of a check that arrived meanwhile did not send, because sending was in progress
    if (!closed && !isEmpty() && permits.get() > 0) {
      sendSoon();
    }
  }

  private boolean tryPermit() {
    if (permits.decrementAndGet() >= 0) {
      return true;
    }
    permits.incrementAndGet();
    return false;
  }

  /** Releases the permit of a call, and immediately sends waiting checks if possible. */
  private void ended(ScriptCall call) {
    inFlight.remove(call);
    permits.incrementAndGet();
    if (isEmpty()) {
      return;
    }
    if (!link.reader().inEventLoop()) {
      sendSoon();
    } else if (sending.compareAndSet(false, true)) {
      send();
    }
  }

  /**
   * Sends one batch. The caller holds a permit. The end of the call releases the permit. If no call
   * is sent, this method releases the permit.
   */
  private void sendOne() {
    List<WaitingCheck> batch = new ArrayList<>();
    boolean sent = false;
    try {
      takeBatch(batch);
      @Nullable StatefulRedisConnection<byte[], byte[]> connection = link.current();
      if (connection == null) {
        answer(batch, Failures.unavailable(link.reason()));
      } else if (!batch.isEmpty()) {
        ScriptCall call = new ScriptCall(environment, connection, batch);
        inFlight.add(call);
        sent = true;
        call.send();
      }
    } catch (RuntimeException | Error fault) {
      // the thread must continue after every exception
      statistics.faultsOf().note("sending", fault);
      answer(batch, Failures.fault(fault));
    } finally {
      if (!sent) {
        permits.incrementAndGet();
      }
    }
  }

  private static void answer(List<WaitingCheck> checks, Decision.Undecided undecided) {
    for (WaitingCheck check : checks) {
      boolean unused = check.answer(undecided);
    }
  }

  /**
   * Completes the waiting checks as undecided, because the server does not reply to earlier calls.
   */
  private void failWaiting() {
    List<WaitingCheck> waiting = takeAll();
    answer(waiting, Failures.silent(config.deadline()));
    statistics.checksNotSent.increment(waiting.size());
  }

  private void takeBatch(List<WaitingCheck> batch) {
    takeLock.lock();
    try {
      boolean batchesFirst = ++turn % TURNS == 0;
      int keys = take(batchesFirst ? batched : singles, batch, 0);
      take(batchesFirst ? singles : batched, batch, keys);
    } finally {
      takeLock.unlock();
    }
  }

  /**
   * Moves checks from a queue to the batch until a check does not fit into the batch. Returns the
   * number of keys of the batch.
   */
  private int take(BlockingQueue<WaitingCheck> queue, List<WaitingCheck> batch, int keysBefore) {
    int keys = keysBefore;
    WaitingCheck next = queue.peek();
    while (next != null && (batch.isEmpty() || fits(next, batch, keys))) {
      queue.remove();
      if (next.trySend()) {
        batch.add(next);
        keys += next.keys().length;
      } else {
        statistics.checksNotSent.increment();
      }
      next = queue.peek();
    }
    return keys;
  }

  private boolean fits(WaitingCheck next, List<WaitingCheck> batch, int keys) {
    return keys + next.keys().length <= config.maxBatchBuckets()
        && !next.isAlone()
        && !batch.get(0).isAlone();
  }

  private List<WaitingCheck> takeAll() {
    List<WaitingCheck> all = new ArrayList<>();
    takeLock.lock();
    try {
      singles.drainTo(all);
      batched.drainTo(all);
    } finally {
      takeLock.unlock();
    }
    return all;
  }

  private void lookSoon() {
    if (!looking.get() && looking.compareAndSet(false, true)) {
      lookLater();
    }
  }

  private void lookLater() {
    try {
      link.later(lookPause, this::look);
    } catch (RejectedExecutionException closing) {
      looking.set(false);
    } catch (RuntimeException | Error fault) {
      // the thread could not be started; the next check tries again
      looking.set(false);
      statistics.faultsOf().note("checking the callers' timeouts", fault);
    }
  }

  /**
   * Rejects checks after their callers' timeouts. A check is rejected when two looks in a row find
   * that the caller's timeout has elapsed. After a pause of this process, the thread that reads the
   * connection therefore has time to read the replies. The method runs on another thread, because
   * the checks may be waiting for the reading thread.
   */
  private void look() {
    try {
      rejectOverdue(NanoClock.now());
    } catch (RuntimeException | Error fault) {
      statistics.faultsOf().note("checking the callers' timeouts", fault);
    }
    if (anyWait()) {
      lookLater();
      return;
    }
    looking.set(false);
    // the thread of a check that arrived meanwhile started no look, because a look was in progress
    if (anyWait()) {
      lookSoon();
    }
  }

  private boolean anyWait() {
    return !isEmpty() || !inFlight.isEmpty();
  }

  private void rejectOverdue(long nowNanos) {
    rejectOverdue(singles, nowNanos);
    rejectOverdue(batched, nowNanos);
    for (ScriptCall call : inFlight) {
      call.rejectOverdue(nowNanos);
    }
  }

  private static void rejectOverdue(Iterable<WaitingCheck> queue, long nowNanos) {
    for (WaitingCheck check : queue) {
      if (!check.lookIfOverdue(nowNanos)) {
        break; // the checks after it arrived later
      }
    }
  }

  @Override
  public void close() {
    closed = true;
    answer(takeAll(), notSent());
  }

  /**
   * Returns the decision on a check that was not sent. In a cluster, the check's buckets may now
   * belong to another server.
   */
  private Decision.Undecided notSent() {
    return environment.script().kind() == ServerKind.OF_CLUSTER
        ? Failures.MOVED
        : Failures.unavailable("the cache is closed");
  }

  /**
   * Completes the checks in flight as undecided, because the connection was closed and no reply can
   * arrive.
   */
  void failInFlight() {
    for (ScriptCall call : inFlight) {
      call.fail(Failures.unavailable("the cache is closed"));
    }
  }
}
