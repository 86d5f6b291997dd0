// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.ClientOptions.DisconnectedBehavior;
import io.lettuce.core.MaintNotificationsConfig;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SslOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.metrics.CommandLatencyRecorder;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.NettyCustomizer;
import io.netty.channel.Channel;
import io.netty.util.concurrent.EventExecutor;
import io.weir.decision.redis.RedisCacheConfig.OnEviction;
import io.weir.topics.process.Backoff;
import io.weir.topics.process.SupervisedThread;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
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
 * One connection to the server, which the link re-establishes when it is lost. Without a
 * connection, calls fail immediately, because the link buffers no calls for an unavailable server.
 * The link uses a connection only after it has loaded the script, and has checked the mode, the
 * version and the eviction policy of the server, and the permissions of the user. Thread-safe.
 */
final class RedisLink implements SupervisedThread.Work, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(RedisLink.class);

  /**
   * First pause before another attempt. It is short because a restarted server is available within
   * milliseconds.
   */
  private static final long MIN_PAUSE_MILLIS = 20;

  /** Maximum pause. It bounds the time for which a healthy server is not used. */
  private static final long MAX_PAUSE_MILLIS = 500;

  /**
   * Time after which a connection counts as stable. A connection to a server that fails immediately
   * ends earlier.
   */
  private static final long LASTING_NANOS = TimeUnit.MILLISECONDS.toNanos(2 * MAX_PAUSE_MILLIS);

  /**
   * Number of threads of each kind. Lettuce requires at least two; a connection uses one of them.
   */
  private static final int CLIENT_THREADS = 2;

  /** The message that tests whether the client may publish. */
  private static final byte[] NO_BUCKET = {};

  private static final Duration SHUTDOWN_TIMEOUT = Duration.ofSeconds(2);

  private final RedisCacheConfig config;
  private final RedisScript script;
  private final Runnable onConnected;
  private final @Nullable Consumer<byte[]> onRaised;
  private final ThreadFaults faults;
  private final OutageLog outageLog;
  private final LinkTarget target;
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
  private volatile boolean maySubscribe;
  private volatile EventExecutor newestReader;
  private volatile EventExecutor reader;
  private volatile String reason = "not connected yet";
  private volatile ServerInfo server = ServerInfo.NOT_REPORTED;
  private volatile String life = "";
  private volatile String refusal = "";
  private volatile Runnable onLost = () -> {};
  private volatile @Nullable LongConsumer onServerTime;
  private volatile LongConsumer onEvicted = keys -> {};

  /**
   * Creates a link that {@link #start} or {@link #startSoon} starts.
   *
   * @param target the server
   * @param script script that is loaded before a connection is used
   * @param onConnected action that runs for each new connection
   * @param onRaised consumer of the keys of buckets to which corrections have added tokens; it runs
   *     on the thread that reads the connection, in the order of the replies; null if it is not
   *     needed
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
    this.onRaised = onRaised;
    this.maySubscribe = onRaised != null;
    this.target = target;
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
    client.setOptions(options(config));
  }

  /** Returns the options of all connections. Each connection reads the certificates again. */
  static ClientOptions options(RedisCacheConfig config) {
    return ClientOptions.builder()
        .sslOptions(sslOptions(config.access()))
        .autoReconnect(false)
        .disconnectedBehavior(DisconnectedBehavior.REJECT_COMMANDS)
        .requestQueueSize(config.maxInFlight() * 4 + 16)
        .maintNotificationsConfig(MaintNotificationsConfig.disabled())
        .socketOptions(
            SocketOptions.builder()
                .connectTimeout(config.connectTimeout())
                .tcpNoDelay(true)
                .keepAlive(true)
                .build())
        .build();
  }

  private static SslOptions sslOptions(RedisAccess access) {
    SslOptions.Builder options = SslOptions.builder().jdkSslProvider();
    if (access.authorities() != null) {
      options.trustManager(access.authorities().toFile());
    }
    if (access.certificate() != null && access.key() != null) {
      options.keyManager(access.certificate().toFile(), access.key().toFile(), new char[0]);
    }
    return options.build();
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
   * Runs a non-blocking task once after a pause, not on the thread that reads the connection.
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
   * it before the first decision over a connection.
   */
  void onServerTime(LongConsumer consumer) {
    onServerTime = consumer;
  }

  /** Sets the consumer of the number of keys that the server has evicted since the last call. */
  void onEvicted(LongConsumer counted) {
    onEvicted = counted;
  }

  /** Returns the connection; null without a connection. */
  @Nullable StatefulRedisConnection<byte[], byte[]> current() {
    return current;
  }

  /**
   * Returns the connection if it receives the keys of buckets to which corrections add tokens;
   * otherwise null.
   */
  @Nullable StatefulRedisConnection<byte[], byte[]> subscribed() {
    StatefulRedisConnection<byte[], byte[]> now = current;
    return now == subscribed ? now : null;
  }

  /** Returns the thread that reads the connection; before the first connection, another thread. */
  EventExecutor reader() {
    return reader;
  }

  /** Returns the reason why there is no connection. */
  String reason() {
    return reason;
  }

  /**
   * Returns the name of the server's state: the {@code run_id} of the last connected server, and
   * the number of keys that it has evicted, if any. The name is {@value ServerInfo#UNKNOWN_LIFE} if
   * the server does not report its run ID, and empty before the first connection.
   */
  String life() {
    return life;
  }

  EvictionCheck evictionCheck() {
    return server.eviction();
  }

  /**
   * Returns the reason why the last server that replied is not used; empty if it is used, or if no
   * server has replied.
   */
  String refusal() {
    return refusal;
  }

  /**
   * Reads the server's information again, because its eviction policy may change and it may evict
   * keys. Drops the connection if the server must no longer be used. Waits at most for the connect
   * timeout.
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
      synchronized (this) {
        if (current != connection) {
          return false; // another server may have replaced the server that replied
        }
        note(found);
      }
    } catch (ExecutionException refused) {
      // the previous information stays valid: the server forbids INFO, or cannot reply at present
      return !isLoss(refused);
    } catch (TimeoutException | RedisException unanswered) {
      return false;
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      return false;
    }
    if (!refusal.isEmpty()) {
      drop(connection, refusal);
      return false;
    }
    return true;
  }

  private synchronized void note(ServerInfo found) {
    ServerInfo before = server;
    long evicted = found.evictedKeys() - before.evictedKeys();
    if (found.life().equals(before.life()) && evicted > 0) {
      onEvicted.accept(evicted);
      LOG.warn("redis_evicted_keys server={} keys={}", target, evicted);
    }
    boolean isNew = !found.eviction().equals(before.eviction());
    if (isNew && found.eviction().result() == EvictionCheck.Result.MAY_EVICT) {
      LOG.warn("redis_may_evict {}", found.eviction().describe());
    }
    server = found;
    life = lifeOf(found);
    refusal = refusalOf(found);
  }

  /** Drops a connection. Its calls fail immediately, and the link connects again. */
  void drop(StatefulRedisConnection<byte[], byte[]> connection, String why) {
    lost(connection, why);
    abandon(connection);
  }

  private static void abandon(StatefulRedisConnection<byte[], byte[]> connection) {
    // no code waits for an unused connection to close
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

  /** Connects if there is no connection, and waits while there is a connection. */
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
   * Cancels waiting for the server, because a server that does not reply must not delay the stop.
   */
  @Override
  public void wakeUp(Thread worker) {
    worker.interrupt();
  }

  /** Connects. If the server rejects the subscription, connects again immediately without it. */
  private void connect() throws InterruptedException {
    boolean asked = maySubscribe;
    connectOnce();
    if (asked && !maySubscribe && current == null) {
      connectOnce();
    }
  }

  private void connectOnce() throws InterruptedException {
    CompletableFuture<? extends StatefulRedisConnection<byte[], byte[]>> connecting =
        !maySubscribe
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
      unreachable(failed instanceof TimeoutException ? "connect timeout" : rootMessage(failed));
    } catch (InterruptedException interrupted) {
      abandon(connecting);
      throw interrupted;
    }
  }

  /**
   * Checks the server, loads the script, and makes the connection the current connection. The check
   * is repeated for each connection, because another server may have the host name now.
   */
  private boolean prepare(StatefulRedisConnection<byte[], byte[]> connection)
      throws InterruptedException {
    try {
      ServerInfo found = askServer(connection);
      // a server in cluster mode may refuse the script
      String forbidden = refusalOf(found).isEmpty() ? findForbidden(connection) : "";
      note(found);
      if (refusal.isEmpty()) {
        refusal = forbidden;
      }
      if (!refusal.isEmpty()) {
        reason = refusal;
        outageLog.refused(refusal);
        return false;
      }
      await(connection.async().scriptLoad(script.body()));
      LongConsumer consumer = onServerTime;
      if (consumer != null && target.kind() == ServerKind.OF_CLUSTER) {
        consumer.accept(HealthProbe.micros(await(connection.async().time())));
      }
      boolean asked = maySubscribe;
      subscribed = subscribe(connection, found) ? connection : null;
      if (asked && !maySubscribe) {
        reason = "connecting again, without messages";
        return false;
      }
    } catch (ExecutionException | TimeoutException failed) {
      unreachable(rootMessage(failed));
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
    // the link opens only one connection at a time, so the newest channel belongs to this
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

  /**
   * Subscribes to the keys of buckets to which corrections add tokens. Returns whether the
   * subscription succeeded.
   */
  private boolean subscribe(StatefulRedisConnection<byte[], byte[]> connection, ServerInfo found)
      throws InterruptedException, TimeoutException {
    if (onRaised == null
        || !maySubscribe
        || !(connection instanceof StatefulRedisPubSubConnection<byte[], byte[]> subscribing)) {
      return false;
    }
    if (!found.hasMessages()) {
      LOG.warn("redis_without_messages version={} effect=\"no deny cache\"", found.version());
      return false;
    }
    subscribing.addListener(
        new RedisPubSubAdapter<>() {
          @Override
          public void message(byte[] channel, byte[] bucket) {
            onRaised.accept(bucket);
          }
        });
    try {
      await(subscribing.async().subscribe(LifeKeys.raised()));
      // also tests whether the scripts may publish; without protocol 3, a subscribed connection
      // cannot send commands
      await(subscribing.async().publish(LifeKeys.raised(), NO_BUCKET));
      return true;
    } catch (ExecutionException | RedisException forbidden) {
      if (connection.isOpen() && !isLoss(forbidden)) {
        LOG.warn(
            "redis_subscription_refused reason=\"{}\" effect=\"no deny cache\"",
            rootMessage(forbidden));
        // not set if the connection was lost, because the server then has not rejected the
        // subscription
        maySubscribe = false;
      }
      return false;
    }
  }

  /**
   * Returns whether the loss of the connection has caused an error, even if the loss is not
   * reported yet.
   */
  static boolean isLoss(Throwable error) {
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      if (cause instanceof IOException || cause instanceof RedisConnectionException) {
        return true;
      }
    }
    return false;
  }

  /**
   * Returns the name of the server's state. A cluster's server that does not report its run ID gets
   * a name from its address. An eviction is a loss of state, so the number of evicted keys is part
   * of the name. All nodes read the same number, even a node that was down.
   */
  private String lifeOf(ServerInfo found) {
    boolean isShared =
        target.kind() == ServerKind.OF_CLUSTER && found.life().equals(ServerInfo.UNKNOWN_LIFE);
    String run =
        isShared
            ? ServerInfo.UNKNOWN_LIFE + "@" + uri.getHost() + ":" + uri.getPort()
            : found.life();
    return found.evictedKeys() == 0 ? run : run + "." + found.evictedKeys();
  }

  private ServerInfo askServer(StatefulRedisConnection<byte[], byte[]> connection)
      throws InterruptedException, TimeoutException {
    try {
      return ServerInfo.of(await(connection.async().info()));
    } catch (ExecutionException forbidden) {
      if (!life.startsWith(ServerInfo.UNKNOWN_LIFE)) {
        LOG.warn(
            "redis_run_id_unknown reason=\"{}\" effect=\"neither a restart nor eviction is"
                + " noticed\"",
            rootMessage(forbidden));
      }
      return ServerInfo.NOT_REPORTED;
    }
  }

  /** Returns the message for a user who must not run all commands of the scripts, or "". */
  private String findForbidden(StatefulRedisConnection<byte[], byte[]> connection)
      throws InterruptedException, ExecutionException, TimeoutException {
    RedisScript finder = RedisScript.findForbidden(target.kind());
    await(connection.async().scriptLoad(finder.body()));
    byte[][] keys = {LifeKeys.permissions()};
    byte @Nullable [] names = await(finder.send(connection, 0, keys, new byte[0][]));
    return names == null || names.length == 0
        ? ""
        : "the ACL of the Redis user must allow these commands on the keys w1:*, but forbids them: "
            + new String(names, StandardCharsets.US_ASCII);
  }

  private String refusalOf(ServerInfo found) {
    boolean mayEvict = found.eviction().result() == EvictionCheck.Result.MAY_EVICT;
    String refused = found.refusal(target.kind());
    return refused.isEmpty() && mayEvict && config.onEviction() == OnEviction.REFUSE
        ? found.eviction().describe()
        : refused;
  }

  private <T> T await(Future<T> future)
      throws InterruptedException, ExecutionException, TimeoutException {
    return future.get(config.connectTimeout().toMillis(), TimeUnit.MILLISECONDS);
  }

  private void unreachable(String why) {
    outageLog.away(why);
    reason = why;
  }

  static String rootMessage(Throwable error) {
    Throwable root = error;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    String message = root.getMessage();
    return message == null ? root.getClass().getSimpleName() : message;
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
      LOG.warn("redis_client_stop_slow reason=\"{}\"", rootMessage(slow));
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
