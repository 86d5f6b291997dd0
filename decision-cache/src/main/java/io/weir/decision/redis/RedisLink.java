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
 * Maintains one connection to the server, and re-establishes it when it is lost. While there is
 * none, calls fail at once: nothing is buffered for an unavailable server. A connection is used
 * only after the script has been loaded and the server has passed the checks of its mode, version
 * and eviction policy. Thread-safe.
 */
final class RedisLink implements SupervisedThread.Work, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(RedisLink.class);

  /**
   * First pause before another attempt; short, since a restarted server is back within
   * milliseconds.
   */
  private static final long MIN_PAUSE_MILLIS = 20;

  /** Longest pause; bounds how long a healthy server remains unused. */
  private static final long MAX_PAUSE_MILLIS = 500;

  /** A connection that lasted so long is not one of a server that fails at once. */
  private static final long LASTING_NANOS = TimeUnit.MILLISECONDS.toNanos(2 * MAX_PAUSE_MILLIS);

  /** Lettuce requires at least two threads of each kind; one connection uses one of them. */
  private static final int CLIENT_THREADS = 2;

  /** The message by which it is tried whether messages can be published. */
  private static final byte[] NO_BUCKET = {};

  private static final Duration SHUTDOWN_TIMEOUT = Duration.ofSeconds(2);

  private final RedisCacheConfig config;
  private final RedisScript script;
  private final Runnable onConnected;
  private final @Nullable Consumer<byte[]> onRaised;
  private final Faults faults;
  private final OutageLog outageLog;
  private final LinkTarget target;
  private final RedisURI uri;
  private final ClientResources resources;
  private final RedisClient client;
  private final Backoff backoff = new Backoff(MIN_PAUSE_MILLIS, MAX_PAUSE_MILLIS);
  private final SupervisedThread thread = new SupervisedThread("weir-redis-link", this);
  private final CountDownLatch firstTry = new CountDownLatch(1);

  /** Has a permit once a connection was lost. */
  private final Semaphore losses = new Semaphore(0);

  private volatile @Nullable StatefulRedisConnection<byte[], byte[]> current;
  private volatile @Nullable StatefulRedisConnection<byte[], byte[]> hearing;
  private volatile boolean mayHear;
  private volatile EventExecutor newestReader;
  private volatile EventExecutor reader;
  private volatile String reason = "not connected yet";
  private volatile ServerInfo server = ServerInfo.UNTOLD;
  private volatile String life = "";
  private volatile String refusal = "";
  private volatile Runnable onLost = () -> {};
  private volatile @Nullable LongConsumer onServerTime;
  private volatile LongConsumer onEvicted = keys -> {};

  /**
   * Creates a link that is not started yet.
   *
   * @param target the server
   * @param script loaded before a connection is used
   * @param onConnected run at every connection made
   * @param onRaised receives the keys of buckets that corrections have given tokens, on the thread
   *     that reads the connection, in order with the replies; null if they are not needed
   * @param faults records unexpected exceptions
   * @param latencies records the time that each command took
   */
  RedisLink(
      RedisCacheConfig config,
      LinkTarget target,
      RedisScript script,
      Runnable onConnected,
      @Nullable Consumer<byte[]> onRaised,
      Faults faults,
      CommandLatencyRecorder latencies) {
    this.faults = faults;
    this.config = config;
    this.script = script;
    this.onConnected = onConnected;
    this.onRaised = onRaised;
    this.mayHear = onRaised != null;
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

  /** Returns the options of every connection. The certificates are read at each one. */
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

  /** Begins to connect and waits for the outcome of the first attempt. */
  void start() {
    startSoon();
    try {
      awaitFirstTry();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Begins to connect. */
  void startSoon() {
    thread.start();
  }

  /** Waits for the outcome of the first attempt. */
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
   * Runs a non-blocking task once, later, on another thread than that which reads the connection.
   *
   * @throws java.util.concurrent.RejectedExecutionException if the link is closed
   */
  void later(Duration pause, Runnable task) {
    var unused =
        resources.eventExecutorGroup().schedule(task, pause.toNanos(), TimeUnit.NANOSECONDS);
  }

  /** Sets what is run, without blocking, at every loss of a connection. */
  void onLost(Runnable told) {
    onLost = told;
  }

  /**
   * Sets the consumer of the time of a server of a cluster, in microseconds since 1970, before the
   * first decision over a connection.
   */
  void onServerTime(LongConsumer told) {
    onServerTime = told;
  }

  /** Sets the consumer of the number of keys that the server has evicted since the last look. */
  void onEvicted(LongConsumer counted) {
    onEvicted = counted;
  }

  /** Returns the connection; null while there is none. */
  @Nullable StatefulRedisConnection<byte[], byte[]> current() {
    return current;
  }

  /**
   * Returns the connection if it also receives the keys of buckets that corrections give tokens;
   * null if there is none, or it does not.
   */
  @Nullable StatefulRedisConnection<byte[], byte[]> hearing() {
    StatefulRedisConnection<byte[], byte[]> now = current;
    return now == hearing ? now : null;
  }

  /**
   * Returns the thread that reads the connection; before the first connection, some other thread.
   */
  EventExecutor reader() {
    return reader;
  }

  /** Returns why there is no connection. */
  String reason() {
    return reason;
  }

  /**
   * Returns the name of the server's state: the {@code run_id} of the server of the last
   * connection, and the number of keys that it has evicted, if any. It is {@value
   * ServerInfo#UNKNOWN_LIFE} if the server does not report it, empty before the first connection.
   */
  String life() {
    return life;
  }

  EvictionCheck evictionCheck() {
    return server.eviction();
  }

  /**
   * Returns why the server that was reached last is not used; empty if it is used or none was
   * reached.
   */
  String refusal() {
    return refusal;
  }

  /**
   * Reads again what the server reports of itself, since its eviction policy may change, and it may
   * evict keys, at any time. Drops the connection if the server must not be used any more. Waits at
   * most for the connect timeout.
   *
   * @return whether there still is a connection
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
          return false; // another server may have replaced the one that answered
        }
        note(found);
      }
    } catch (ExecutionException refused) {
      // what was known remains so: the server forbids INFO, or cannot answer it now
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

  /** Drops a connection: its calls fail now and another one is made. */
  void drop(StatefulRedisConnection<byte[], byte[]> connection, String why) {
    lost(connection, why);
    abandon(connection);
  }

  private static void abandon(StatefulRedisConnection<byte[], byte[]> connection) {
    // nobody waits for an unused connection to close
    var unused = connection.closeAsync();
  }

  private static void abandon(
      CompletableFuture<? extends StatefulRedisConnection<byte[], byte[]>> connecting) {
    // it may still succeed after the timeout
    var unused = connecting.thenAccept(RedisLink::abandon);
  }

  private void lost(StatefulRedisConnection<byte[], byte[]> connection, String why) {
    // two threads may notice at once: the second report must not hide a connection made since
    if (current == connection) {
      reason = why;
      current = null;
      outageLog.away(why);
      losses.release();
      onLost.run();
    }
  }

  /** Makes one attempt, unless there is a connection, and waits for as long as that lasts. */
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

  /** A server that does not answer must not delay the stop. */
  @Override
  public void wakeUp(Thread worker) {
    worker.interrupt();
  }

  /** Makes a connection; at once another one if the server takes no subscription. */
  private void connect() throws InterruptedException {
    boolean asked = mayHear;
    connectOnce();
    if (asked && !mayHear && current == null) {
      connectOnce();
    }
  }

  private void connectOnce() throws InterruptedException {
    CompletableFuture<? extends StatefulRedisConnection<byte[], byte[]>> connecting =
        !mayHear
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
   * Checks the server, each time again since another one may have taken over its name, loads the
   * script, and puts the connection to use.
   */
  private boolean prepare(StatefulRedisConnection<byte[], byte[]> connection)
      throws InterruptedException {
    try {
      ServerInfo found = askServer(connection);
      note(found);
      if (!refusal.isEmpty()) {
        reason = refusal;
        outageLog.refused(refusal);
        return false;
      }
      await(connection.async().scriptLoad(script.body()));
      LongConsumer told = onServerTime;
      if (told != null && target.kind() == ServerKind.OF_CLUSTER) {
        told.accept(HealthProbe.micros(await(connection.async().time())));
      }
      boolean asked = mayHear;
      hearing = hears(connection, found) ? connection : null;
      if (asked && !mayHear) {
        reason = "connecting anew, without messages";
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
    // one connection at a time is made, so the newest channel is the one of this connection
    reader = newestReader;
    current = connection;
    if (!connection.isOpen()) {
      lost(connection, "the connection was closed");
      return false;
    }
    outageLog.back();
    return true;
  }

  /** Subscribes to the buckets that corrections give tokens; returns whether it could. */
  private boolean hears(StatefulRedisConnection<byte[], byte[]> connection, ServerInfo found)
      throws InterruptedException, TimeoutException {
    if (onRaised == null
        || !mayHear
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
      // the scripts publish, too; and without protocol 3 nothing can be asked while subscribed
      await(subscribing.async().publish(LifeKeys.raised(), NO_BUCKET));
      return true;
    } catch (ExecutionException | RedisException forbidden) {
      if (connection.isOpen() && !isLoss(forbidden)) {
        LOG.warn(
            "redis_subscription_refused reason=\"{}\" effect=\"no deny cache\"",
            rootMessage(forbidden));
        // from the next connection on; a connection that was lost meanwhile has refused nothing
        mayHear = false;
      }
      return false;
    }
  }

  /**
   * Returns whether an error is that of a connection which was lost, of which it may not be known
   * yet that it is.
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
   * Returns the name of the server's state. A server of a cluster that does not report its run ID
   * has a name of its own. Evicted keys are lost as in a flush, so they change the name: every node
   * sees the same number, also one that was down meanwhile.
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
            "redis_run_id_unknown reason=\"{}\" effect=\"neither a restart nor eviction is noticed\"",
            rootMessage(forbidden));
      }
      return ServerInfo.UNTOLD;
    }
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
