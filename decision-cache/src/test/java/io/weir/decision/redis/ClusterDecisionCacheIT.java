// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.weir.decision.DecisionCache;
import io.weir.decision.DecisionCacheContract;
import io.weir.servers.testing.TestCluster;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

/** Tests the contract of decision caches with a Redis Cluster. */
class ClusterDecisionCacheIT extends DecisionCacheContract {
  private static TestCluster cluster;
  private ClusterDecisionCache cache;

  @BeforeAll
  static void startCluster() {
    cluster = TestCluster.start(3, false);
  }

  @AfterAll
  static void stopCluster() {
    cluster.close();
  }

  @BeforeEach
  void startCache() {
    cache = ClusterDecisionCache.start(PatientConfig.of(cluster.uri()));
  }

  @AfterEach
  void closeCache() {
    cache.close();
  }

  @Override
  protected void setWarm(boolean warm) {
    ClusterRoutes routes = cache.topology().routes();
    routes
        .servers()
        .forEach(
            (server, connection) -> {
              try (ScriptRunner runner = new ScriptRunner("redis://" + server)) {
                byte[] life = ScriptRunner.bytes(connection.link().life());
                routes.map().slotsOf(server).stream()
                    .mapToObj(LifeKeys::marker)
                    .forEach(
                        marker -> {
                          if (warm) {
                            runner.redis().set(marker, life);
                          } else {
                            runner.redis().del(marker);
                          }
                        });
              }
            });
  }

  @Override
  protected long nowEpochMicros() {
    return System.currentTimeMillis() * 1_000;
  }

  @Override
  protected DecisionCache cache() {
    return cache;
  }
}
