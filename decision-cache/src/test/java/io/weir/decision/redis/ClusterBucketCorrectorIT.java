// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.weir.decision.BucketCorrectorContract;
import io.weir.decision.DecisionCache;
import io.weir.decision.correction.BucketCorrector;
import io.weir.servers.testing.TestCluster;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

/** Tests the contract of correctors with a Redis Cluster. */
class ClusterBucketCorrectorIT extends BucketCorrectorContract {
  private static TestCluster cluster;
  private ClusterDecisionCache cache;
  private BucketCorrector corrector;

  @BeforeAll
  static void startCluster() {
    cluster = TestCluster.start(3, false);
  }

  @AfterAll
  static void stopCluster() {
    cluster.close();
  }

  @BeforeEach
  void start() {
    cache = ClusterDecisionCache.start(PatientConfig.of(cluster.uri()));
    corrector = cache.startCorrector();
  }

  @AfterEach
  void close() {
    corrector.close();
    cache.close();
  }

  @Override
  protected BucketCorrector corrector() {
    return corrector;
  }

  @Override
  protected DecisionCache cache() {
    return cache;
  }

  @Override
  protected long nowEpochMicros() {
    return System.currentTimeMillis() * 1_000;
  }
}
