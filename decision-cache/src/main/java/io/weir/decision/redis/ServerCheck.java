// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.api.StatefulRedisConnection;
import io.weir.decision.redis.RedisCacheConfig.OnEviction;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks whether a {@link RedisLink} may use its server. Checks the server's mode, version and
 * eviction policy, and the permissions of the user. Also detects evictions. Thread-safe.
 */
final class ServerCheck {
  private static final Logger LOG = LoggerFactory.getLogger(ServerCheck.class);

  private final RedisCacheConfig config;
  private final LinkTarget target;
  private volatile ServerInfo server = ServerInfo.NOT_REPORTED;
  private volatile String life = "";
  private volatile String refusal = "";
  private volatile LongConsumer onEvicted = keys -> {};

  /** Creates a check without information about a server. */
  ServerCheck(RedisCacheConfig config, LinkTarget target) {
    this.config = config;
    this.target = target;
  }

  /** Sets the consumer of the number of keys that the server has evicted since the last call. */
  void onEvicted(LongConsumer counted) {
    onEvicted = counted;
  }

  /**
   * Returns the name of the server's state: the {@code run_id} of the last connected server. If the
   * server has evicted keys, the name also contains their number. The name is {@value
   * ServerInfo#UNKNOWN_LIFE} if the server does not report its run ID, and empty before the first
   * connection.
   */
  String life() {
    return life;
  }

  EvictionCheck evictionCheck() {
    return server.eviction();
  }

  /**
   * Returns the reason why the last server that replied is not used. Returns an empty string if
   * this server is used, or if no server has replied.
   */
  String refusal() {
    return refusal;
  }

  /** Checks the server of a new connection, and the permissions of the user. */
  ServerInfo check(StatefulRedisConnection<byte[], byte[]> connection)
      throws InterruptedException, ExecutionException, TimeoutException {
    ServerInfo found = askServer(connection);
    // not with a refused server, because a server in cluster mode may refuse the script
    String forbidden = refusalOf(found).isEmpty() ? findForbidden(connection) : "";
    note(found);
    if (refusal.isEmpty()) {
      refusal = forbidden;
    }
    return found;
  }

  /** Records what the current server reports. */
  synchronized void note(ServerInfo found) {
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

  /**
   * Returns the name of the server's state. If a cluster's server does not report its run ID, the
   * server's address is part of the name. An eviction is a loss of state; the number of evicted
   * keys is therefore part of the name. All nodes read the same number, even a node that was down
   * during the eviction.
   */
  private String lifeOf(ServerInfo found) {
    boolean isShared =
        target.kind() == ServerKind.OF_CLUSTER && found.life().equals(ServerInfo.UNKNOWN_LIFE);
    String run =
        isShared
            ? ServerInfo.UNKNOWN_LIFE + "@" + target.uri().getHost() + ":" + target.uri().getPort()
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
            "redis_run_id_unknown reason=\"{}\" effect=\"Weir notices no restart and no"
                + " eviction\"",
            Failures.rootMessage(forbidden));
      }
      return ServerInfo.NOT_REPORTED;
    }
  }

  /**
   * Returns the message for a user without permission for all commands of the scripts; empty if the
   * user has the permissions.
   */
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

  private <T extends @Nullable Object> T await(Future<T> future)
      throws InterruptedException, ExecutionException, TimeoutException {
    return future.get(config.connectTimeout().toMillis(), TimeUnit.MILLISECONDS);
  }
}
