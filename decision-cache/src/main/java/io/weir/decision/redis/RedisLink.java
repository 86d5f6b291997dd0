// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.metrics.CommandLatencyRecorder;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.NettyCustomizer;
import io.netty.channel.Channel;
import io.netty.util.concurrent.EventExecutor;
import io.weir.topics.process.Backoff;
import io.weir.topics.process.SupervisedThread;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connection to the server. The link re-establishes a lost connection. Without a connection,
 * calls fail immediately, because the link buffers no calls for an unavailable server. Before the
 * link uses a connection, it loads the script. The link also checks the server's mode, version and
 * eviction policy, and the permissions of the user. Thread-safe.
 */
final class RedisLink implements SupervisedThread.Work, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(RedisLink.class);

  /**
   * First pause before another attempt. The pause is short because a restarted server is available
   * within milliseconds.
   */
  private static final long MIN_PAUSE_MILLIS = 20;

  /**
   * Maximum pause between two attempts. A server that is healthy again is used after this time at
   * the latest.
   */
  private static final long MAX_PAUSE_MILLIS = 500;

  /**
   * Time after which a connection counts as stable. If a server fails immediately, the connection
   * ends before this time.
   */
  private static final long LASTING_NANOS = TimeUnit.MILLISECONDS.toNanos(2 * MAX_PAUSE_MILLIS);

  /**
   * Number of threads of each kind. Lettuce requires at least two threads; a connection uses one of
   * these threads.
   */
  private static final int CLIENT_THREADS = 2;

  private static final Duration SHUTDOWN_TIMEOUT = Duration.ofSeconds(2);

  private final RedisCacheConfig config;
  private final RedisScript script;
  private final Runnable onConnected;
  private final RaisedSubscription subscription;
  private final ThreadFaults faults;
  private final OutageLog outageLog;
  private final LinkTarget target;
  private final ServerCheck server;
  private final RedisURI uri;
  private final ClientResources resources;
  private final RedisClient client;
  private final Backoff backoff = new Backoff(MIN_PAUSE_MILLIS, MAX_PAUSE_MILLIS);
  private final SupervisedThread thread = new SupervisedThread("weir-redis-link", this);
  private final CountDownLatch firstTry = new CountDownLatch(1);

  /** Semaphore that gets a permit when a connection is lost. */
  private final Semaphore losses = new Semaphore(0);

  private volatile @Nullable StatefulRedisConnection<byte[], byte[]> current;
  private volatile @Nullable StatefulRedisConnection<byte[], byte[]> subscribed;
  private volatile EventExecutor newestReader;
  private volatile EventExecutor reader;
  private volatile String reason = "not connected yet";
  private volatile Runnable onLost = () -> {};
  private volatile @Nullable LongConsumer onServerTime;

  /**
   * Creates a link without starting it; see {@link #start} and {@link #startSoon}.
   *
   * @param script script that is loaded before a connection is used
   * @param onConnected action that runs for each new connection
   * @param onRaised consumer of the keys of buckets to which corrections have added tokens; null if
   *     the keys are not needed. The consumer runs on the thread that reads the connection, in the
   *     order of the replies
   * @param faults record of unexpected exceptions
   * @param latencies recorder of each command's duration
   */
  RedisLink(
      RedisCacheConfig config,
      LinkTarget target,
      RedisScript script,
      Runnable onConnected,
      @Nullable Consumer<byte[]> onRaised,
      ThreadFaults faults,
      CommandLatencyRecorder latencies) {
    this.faults = faults;
    this.config = config;
    this.script = script;
    this.onConnected = onConnected;
    this.subscription = new RaisedSubscription(onRaised, config.connectTimeout().toMillis());
    this.target = target;
    this.server = new ServerCheck(config, target);
    this.outageLog = new OutageLog(target.shown());
    this.uri = target.uri();
    uri.setTimeout(config.connectTimeout());
    this.resources =
        ClientResources.builder()
            .ioThreadPoolSize(CLIENT_THREADS)
            .computationThreadPoolSize(CLIENT_THREADS)
            .commandLatencyRecorder(latencies)
            .nettyCustomizer(
                new NettyCustomizer() {
                  @Override
                  public void afterChannelInitialized(Channel channel) {
                    newestReader = channel.eventLoop();
                  }
                })
            .build();
    this.newestReader = resources.eventExecutorGroup().next();
    this.reader = newestReader;
    this.client = RedisClient.create(resources, uri);
    client.setOptions(config.clientOptions());
  }

  /** Begins to connect, and waits until the first attempt has ended. */
  void start() {
    startSoon();
    try {
      awaitFirstTry();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Begins to connect, without waiting. */
  void startSoon() {
    thread.start();
  }

  /** Waits until the first attempt has ended. */
  void awaitFirstTry() throws InterruptedException {
    if (!firstTry.await(2 * config.connectTimeout().toMillis(), TimeUnit.MILLISECONDS)) {
      LOG.warn("redis_connect_slow server={}", target);
    }
  }

  /** Runs a non-blocking task repeatedly, until the link is closed. */
  void every(Duration pause, Runnable task) {
    var unused =
        resources
            .eventExecutorGroup()
            .scheduleWithFixedDelay(task, pause.toNanos(), pause.toNanos(), TimeUnit.NANOSECONDS);
  }

  /**
   * Runs a non-blocking task once after a pause. The task does not run on the thread that reads the
   * connection.
   *
   * @throws java.util.concurrent.RejectedExecutionException if the link is closed
   */
  void later(Duration pause, Runnable task) {
    var unused =
        resources.eventExecutorGroup().schedule(task, pause.toNanos(), TimeUnit.NANOSECONDS);
  }

  /** Sets the non-blocking task that runs when a connection is lost. */
  void onLost(Runnable task) {
    onLost = task;
  }

  /**
   * Sets the consumer of the time of a cluster's server, in microseconds since 1970. The link calls
   * the consumer before the first decision over a connection.
   */
  void onServerTime(LongConsumer consumer) {
    onServerTime = consumer;
  }

  /** Returns the connection; null if there is no connection. */
  @Nullable StatefulRedisConnection<byte[], byte[]> current() {
    return current;
  }

  /**
   * Returns the connection if it has the subscription to raised buckets ({@link
   * RaisedSubscription}); otherwise null.
   */
  @Nullable StatefulRedisConnection<byte[], byte[]> subscribed() {
    StatefulRedisConnection<byte[], byte[]> now = current;
    return now == subscribed ? now : null;
  }

  /**
   * Returns the thread that reads the connection. Before the first connection, returns any thread
   * of the client.
   */
  EventExecutor reader() {
    return reader;
  }

  /** Returns the reason why there is no connection. */
  String reason() {
    return reason;
  }

  /** Returns the check of the server. */
  ServerCheck server() {
    return server;
  }

  /** Returns {@link ServerCheck#life}. */
  String life() {
    return server.life();
  }

  /**
   * Reads the server's information again, because the server's eviction policy and its number of
   * evicted keys may have changed. Drops the connection if the server must no longer be used. Waits
   * at most for the connect timeout.
   *
   * @return whether the connection still exists
   */
  boolean lookAtServer() {
    StatefulRedisConnection<byte[], byte[]> connection = current;
    if (connection == null) {
      return false;
    }
    try {
      ServerInfo found = ServerInfo.of(await(connection.async().info()));
      synchronized (server) {
        if (current != connection) {
          return false; // the information may be that of a previous server
        }
        server.note(found);
      }
    } catch (ExecutionException refused) {
      // the previous information stays valid: the server forbids INFO, or cannot reply at present
      return !Failures.isLoss(refused);
    } catch (TimeoutException | RedisException unanswered) {
      return false;
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      return false;
    }
    if (!server.refusal().isEmpty()) {
      drop(connection, server.refusal());
      return false;
    }
    return true;
  }

  /**
   * Drops a connection. Calls over this connection fail immediately, and the link connects again.
   */
  void drop(StatefulRedisConnection<byte[], byte[]> connection, String why) {
    lost(connection, why);
    abandon(connection);
  }

  private static void abandon(StatefulRedisConnection<byte[], byte[]> connection) {
    // this thread does not wait until the connection is closed
    var unused = connection.closeAsync();
  }

  private static void abandon(
      CompletableFuture<? extends StatefulRedisConnection<byte[], byte[]>> connecting) {
    // the connection may still succeed after the timeout
    var unused = connecting.thenAccept(RedisLink::abandon);
  }

  private void lost(StatefulRedisConnection<byte[], byte[]> connection, String why) {
    // two threads may detect the loss; the second thread must not drop a new connection
    if (current == connection) {
      reason = why;
      current = null;
      outageLog.away(why);
      losses.release();
      onLost.run();
    }
  }

  /** Connects if there is no connection; otherwise waits until the connection is lost. */
  @Override
  public void run() throws InterruptedException {
    long beganNanos = NanoClock.now();
    if (current == null) {
      connect();
      firstTry.countDown();
    }
    while (current != null) {
      losses.acquire();
    }
    if (NanoClock.now() - beganNanos > LASTING_NANOS) {
      backoff.reset();
    }
    thread.pause(backoff.failedMillis());
  }

  @Override
  public long failed(Throwable fault) {
    faults.note("connecting", fault);
    if (current == null) {
      unreachable("connecting failed: " + fault);
    }
    firstTry.countDown();
    return backoff.failedMillis();
  }

  /**
   * Interrupts the wait for the server. A server that does not reply must not delay the stop of the
   * link.
   */
  @Override
  public void wakeUp(Thread worker) {
    worker.interrupt();
  }

  /**
   * Connects. If the server rejects the subscription, connects again immediately, without a
   * subscription.
   */
  private void connect() throws InterruptedException {
    boolean asked = subscription.isWanted();
    connectOnce();
    if (asked && !subscription.isWanted() && current == null) {
      connectOnce();
    }
  }

  private void connectOnce() throws InterruptedException {
    CompletableFuture<? extends StatefulRedisConnection<byte[], byte[]>> connecting =
        !subscription.isWanted()
            ? client.connectAsync(ByteArrayCodec.INSTANCE, uri).toCompletableFuture()
            : client.connectPubSubAsync(ByteArrayCodec.INSTANCE, uri).toCompletableFuture();
    try {
      StatefulRedisConnection<byte[], byte[]> connection = await(connecting);
      boolean used = false;
      try {
        used = prepare(connection);
      } finally {
        if (!used) {
          abandon(connection);
        }
      }
    } catch (ExecutionException | TimeoutException failed) {
      abandon(connecting);
      unreachable(
          failed instanceof TimeoutException ? "connect timeout" : Failures.rootMessage(failed));
    } catch (InterruptedException interrupted) {
      abandon(connecting);
      throw interrupted;
    }
  }

  /**
   * Checks the server, loads the script, and makes the connection the current connection. The check
   * is repeated for each connection, because the host name may belong to another server now.
   */
  private boolean prepare(StatefulRedisConnection<byte[], byte[]> connection)
      throws InterruptedException {
    try {
      ServerInfo found = server.check(connection);
      if (!server.refusal().isEmpty()) {
        reason = server.refusal();
        outageLog.refused(reason);
        return false;
      }
      await(connection.async().scriptLoad(script.body()));
      LongConsumer consumer = onServerTime;
      if (consumer != null && target.kind() == ServerKind.OF_CLUSTER) {
        consumer.accept(HealthProbe.micros(await(connection.async().time())));
      }
      boolean asked = subscription.isWanted();
      subscribed = subscription.subscribe(connection, found) ? connection : null;
      if (asked && !subscription.isWanted()) {
        reason = "connecting again, without messages";
        return false;
      }
    } catch (ExecutionException | TimeoutException failed) {
      unreachable(Failures.rootMessage(failed));
      return false;
    }
    connection.addListener(
        new RedisConnectionStateListener() {
          @Override
          public void onRedisDisconnected(RedisChannelHandler<?, ?> handler) {
            lost(connection, "the connection was closed");
          }
        });
    onConnected.run();
    // the link opens only one connection at a time; the newest channel therefore belongs to this
    // connection
    reader = newestReader;
    current = connection;
    if (!connection.isOpen()) {
      lost(connection, "the connection was closed");
      return false;
    }
    outageLog.back();
    return true;
  }

  private <T> T await(Future<T> future)
      throws InterruptedException, ExecutionException, TimeoutException {
    return future.get(config.connectTimeout().toMillis(), TimeUnit.MILLISECONDS);
  }

  private void unreachable(String why) {
    outageLog.away(why);
    reason = why;
  }

  @Override
  public void close() {
    outageLog.close();
    StatefulRedisConnection<byte[], byte[]> connection = current;
    reason = "the cache is closed";
    current = null;
    if (connection != null) {
      connection.close();
    }
    thread.close(SHUTDOWN_TIMEOUT);
    client.shutdown(Duration.ZERO, SHUTDOWN_TIMEOUT);
    Future<Boolean> stopped =
        resources.shutdown(0, SHUTDOWN_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
    try {
      stopped.get(SHUTDOWN_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException | TimeoutException slow) {
      LOG.warn("redis_client_stop_slow reason=\"{}\"", Failures.rootMessage(slow));
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
