// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.weir.decision.redis.RedisAddress.Server;
import io.weir.topics.process.SupervisedThread;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connections to the primaries of a cluster, and the map of the cluster's slots. A thread
 * queries all primaries once per second, and immediately after {@link #changed}. While no primary
 * replies, the thread queries the servers in the settings. Thread-safe.
 */
final class ClusterTopology implements SupervisedThread.Work, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ClusterTopology.class);

  private static final Duration PAUSE = Duration.ofSeconds(1);

  /** Minimum time between two rounds of queries. */
  private static final long MIN_PAUSE_MILLIS = 25;

  /** Timeout for the replies in one round. A failover takes longer than this timeout. */
  private static final long ANSWER_MILLIS = 500;

  /**
   * Time for which the run IDs of servers that have left are kept. During this time, other servers
   * accept slots that these servers have handed over.
   */
  private static final Duration RETIRED = Duration.ofMinutes(1);

  /** The error that a server without cluster mode returns. */
  private static final String NO_CLUSTER = "cluster support disabled";

  private static final Duration STOP_TIMEOUT = Duration.ofSeconds(3);

  private final RedisCacheConfig config;
  private final RedisAddress address;
  private final Function<LinkTarget, RedisDecisionCache> connector;
  private final Semaphore changes = new Semaphore(0);
  private final CountDownLatch firstTry = new CountDownLatch(1);
  private final SupervisedThread thread = new SupervisedThread("weir-redis-cluster", this);

  /**
   * Connections to servers that have left or are no longer primaries, with the time at which each
   * connection is closed. Before that time, checks may still use the connection.
   */
  private final Map<RedisDecisionCache, Long> retired = new LinkedHashMap<>();

  private final Map<String, Long> retiredLives = new ConcurrentHashMap<>();

  private volatile ClusterRoutes routes = ClusterRoutes.NONE;
  private volatile String reason = "no server of the cluster has replied yet";
  private volatile String refusal = "";

  /**
   * Creates a topology without starting it; see {@link #start}.
   *
   * @param connector function that creates the connection to a server, without starting it
   */
  ClusterTopology(RedisCacheConfig config, Function<LinkTarget, RedisDecisionCache> connector) {
    this.config = config;
    this.address = RedisAddress.of(config.uri());
    this.connector = connector;
  }

  /** Starts the queries, and waits for the end of the first round. */
  void start() {
    thread.start();
    try {
      long seeds = address.servers().size();
      if (!firstTry.await(2 * seeds * config.connectTimeout().toMillis(), TimeUnit.MILLISECONDS)) {
        LOG.warn("redis_connect_slow server={}", address);
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Returns the connections according to the last round. */
  ClusterRoutes routes() {
    return routes;
  }

  /**
   * Returns the reason why the servers in the settings must not be used; empty if no reason is
   * known.
   */
  String refusal() {
    return refusal;
  }

  /** Returns the run IDs of servers that were connected primaries until recently. */
  Set<String> retiredLives() {
    long now = NanoClock.now();
    retiredLives.values().removeIf(untilNanos -> now - untilNanos > 0);
    return retiredLives.keySet();
  }

  /** Returns the reason why no server of the cluster is known. */
  String reason() {
    return reason;
  }

  /**
   * Starts the next round immediately. Called when slots seem to have moved or a server seems to
   * have left.
   */
  void changed() {
    if (changes.availablePermits() == 0) {
      changes.release();
    }
  }

  @Override
  public void run() throws InterruptedException {
    refresh();
    firstTry.countDown();
    thread.pause(MIN_PAUSE_MILLIS);
    // the next round follows in both cases
    boolean unused = changes.tryAcquire(PAUSE.toNanos(), TimeUnit.NANOSECONDS);
    changes.drainPermits();
  }

  @Override
  public long failed(Throwable fault) {
    LOG.warn("redis_cluster_failed server={}", address, fault);
    firstTry.countDown();
    return PAUSE.toMillis();
  }

  @Override
  public void wakeUp(Thread worker) {
    worker.interrupt();
  }

  private void refresh() throws InterruptedException {
    closeRetired(NanoClock.now());
    List<ClusterView> views = askServers();
    if (views.isEmpty()) {
      views = askSeeds();
    }
    if (!views.isEmpty()) {
      use(ClusterMap.merge(views));
    }
  }

  private void closeRetired(long nowNanos) {
    retired
        .entrySet()
        .removeIf(
            each -> {
              boolean isOver = nowNanos - each.getValue() > 0;
              if (isOver) {
                each.getKey().close();
              }
              return isOver;
            });
  }

  private List<ClusterView> askServers() throws InterruptedException {
    Map<Server, Future<String>> asked = new HashMap<>();
    routes
        .servers()
        .forEach(
            (server, cache) -> {
              StatefulRedisConnection<byte[], byte[]> connection = cache.link().current();
              if (connection != null) {
                asked.put(server, connection.async().clusterNodes());
              }
            });
    List<ClusterView> views = new ArrayList<>();
    long endNanos = NanoClock.now() + TimeUnit.MILLISECONDS.toNanos(ANSWER_MILLIS);
    for (Map.Entry<Server, Future<String>> each : asked.entrySet()) {
      try {
        long leftNanos = Math.max(0, endNanos - NanoClock.now());
        views.add(view(each.getKey(), each.getValue().get(leftNanos, TimeUnit.NANOSECONDS)));
      } catch (ExecutionException | TimeoutException | IllegalArgumentException failed) {
        LOG.debug("redis_cluster_unanswered server={}", each.getKey(), failed);
      }
    }
    return views;
  }

  private ClusterView view(Server asked, String clusterNodes) {
    return ClusterView.of(asked, clusterNodes, address.toLettuce(asked).isSsl());
  }

  private List<ClusterView> askSeeds() {
    for (Server seed : address.servers()) {
      RedisURI uri = address.toLettuce(seed);
      uri.setTimeout(config.connectTimeout());
      RedisClient client = RedisClient.create(uri);
      client.setOptions(config.clientOptions());
      try (StatefulRedisConnection<String, String> connection = client.connect()) {
        ClusterView found = view(seed, connection.sync().clusterNodes());
        refusal = "";
        return List.of(found);
      } catch (RedisException | IllegalArgumentException failed) {
        reason = seed + ": " + Failures.rootMessage(failed);
        refusal = reason.contains(NO_CLUSTER) ? Failures.NOT_CLUSTER_MODE : "";
        LOG.debug("redis_cluster_unanswered server={}", seed, failed);
      } finally {
        client.shutdown(Duration.ZERO, STOP_TIMEOUT);
      }
    }
    return List.of();
  }

  private void use(ClusterMap map) throws InterruptedException {
    Map<Server, RedisDecisionCache> now = new LinkedHashMap<>();
    Map<Server, RedisDecisionCache> before = routes.servers();
    List<RedisDecisionCache> added = new ArrayList<>();
    for (Server server : map.servers()) {
      RedisDecisionCache known = before.get(server);
      if (known == null) {
        known = connector.apply(LinkTarget.of(address, server));
        added.add(known);
        known.beginSoon();
      }
      now.put(server, known);
    }
    if (!map.sameSlots(routes.map())) {
      LOG.info("redis_cluster servers={} complete={}", map.servers().size(), map.isComplete());
    }
    if (routes.servers().isEmpty()) {
      // at the start, waiting delays no check, because no server is in use
      for (RedisDecisionCache each : added) {
        each.link().awaitFirstTry();
      }
    }
    routes = ClusterRoutes.of(map, now);
    before.forEach(
        (server, cache) -> {
          if (!now.containsKey(server)) {
            retire(cache);
          }
        });
  }

  private void retire(RedisDecisionCache cache) {
    long nowNanos = NanoClock.now();
    retired.put(cache, nowNanos + config.stallTimeout().toNanos());
    if (cache.link().current() != null) {
      retiredLives.put(cache.link().life(), nowNanos + RETIRED.toNanos());
    }
  }

  @Override
  public void close() {
    thread.close(STOP_TIMEOUT);
    ClusterRoutes last = routes;
    routes = ClusterRoutes.NONE;
    reason = "the cache is closed";
    last.servers().values().forEach(RedisDecisionCache::close);
    retired.keySet().forEach(RedisDecisionCache::close);
  }
}
