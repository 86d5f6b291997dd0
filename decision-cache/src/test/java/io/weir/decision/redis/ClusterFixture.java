// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.lettuce.core.cluster.SlotHash;
import io.weir.decision.correction.CacheLife;
import io.weir.decision.correction.CacheLife.Warmth;
import io.weir.decision.correction.CacheUnavailableException;
import io.weir.limits.QuotaLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.servers.testing.TestCluster;
import io.weir.testing.Await;
import io.weir.topics.model.CacheRestored;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** A Redis Cluster, a cache on it, and clients whose servers are known. */
final class ClusterFixture implements AutoCloseable {
  private static final long ENDS_AT = 4_000_000_000_000_000L;
  private static final int PARTITIONS = 2;

  final TestCluster cluster;
  final ClusterDecisionCache cache;
  final CacheLife life;

  ClusterFixture(boolean replicated) throws Exception {
    cluster = TestCluster.start(3, replicated);
    cache = ClusterDecisionCache.start(PatientConfig.of(cluster.uri()));
    life = cache.life();
    Await.until("the cluster", () -> cache.check().ok());
  }

  /** Returns a client whose buckets are in a slot. */
  static String clientIn(int slot) {
    return SlotTags.of(slot);
  }

  static int slotOf(String client) {
    return SlotHash.getSlot(key(client));
  }

  static String key(String client) {
    return "w1:{" + client + "}:month";
  }

  /** Returns a check of a client's quota. */
  static Check quota(String client, long limit, boolean held) {
    return new Check(
        List.of(new BucketRequest(key(client), new QuotaLimit(limit, ENDS_AT), true, held)), 1);
  }

  Warmth look() {
    return life.look();
  }

  void awaitWarmth(Warmth warmth) throws Exception {
    Await.until("the cache to be " + warmth, () -> life.look() == warmth);
  }

  /** Restores each cold server. Returns the number of restored servers. */
  int restore() throws Exception {
    AtomicInteger restored = new AtomicInteger();
    Await.until(
        "a warm cache",
        () -> {
          Warmth warmth = life.look();
          if (warmth == Warmth.COLD && restoreOne()) {
            restored.incrementAndGet();
          }
          return warmth == Warmth.WARM;
        });
    return restored.get();
  }

  private boolean restoreOne() {
    try {
      String generation = life.beginRestoration();
      assertNotNull(generation, "a server is cold, and its restoration does not begin");
      for (int partition = 0; partition < PARTITIONS; partition++) {
        assertEquals(
            partition == PARTITIONS - 1,
            life.noteRestored(new CacheRestored(generation, partition, PARTITIONS, 1, 1)));
      }
      return true;
    } catch (CacheUnavailableException moving) {
      return false;
    }
  }

  @Override
  public void close() {
    life.close();
    cache.close();
    cluster.close();
  }
}
