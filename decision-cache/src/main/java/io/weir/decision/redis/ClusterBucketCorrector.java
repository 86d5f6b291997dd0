// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.weir.decision.correction.BucketCorrector;
import io.weir.decision.correction.CacheUnavailableException;
import io.weir.decision.correction.PartlyUnavailableException;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.CorrectionOutcome;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Corrector of the buckets of a decision cache in a Redis Cluster. The corrector has a connection
 * to each server, and sends one call per server for all buckets that the server holds. Thread-safe.
 */
final class ClusterBucketCorrector implements BucketCorrector {
  private final ClusterDecisionCache cache;
  private final Map<RedisDecisionCache, BucketCorrector> correctors = new HashMap<>();

  ClusterBucketCorrector(ClusterDecisionCache cache) {
    this.cache = cache;
  }

  @Override
  public synchronized List<CorrectionOutcome> apply(List<BoundedCorrection> corrections)
      throws CacheUnavailableException {
    ClusterRoutes routes = cache.topology().routes();
    closeGone(routes);
    Map<RedisDecisionCache, List<Integer>> byServer = new LinkedHashMap<>();
    String failure = "";
    for (int i = 0; i < BucketCorrector.requireBatch(corrections).size(); i++) {
      RedisDecisionCache server = routes.holder(corrections.get(i).correction().bucket());
      if (server == null) {
        failure = "the slot of a bucket has no server";
      } else {
        byServer.computeIfAbsent(server, none -> new ArrayList<>()).add(i);
      }
    }
    @Nullable CorrectionOutcome[] outcomes = new CorrectionOutcome[corrections.size()];
    for (Map.Entry<RedisDecisionCache, List<Integer>> each : byServer.entrySet()) {
      List<Integer> indexes = each.getValue();
      try {
        List<CorrectionOutcome> answered =
            correctors
                .computeIfAbsent(each.getKey(), RedisDecisionCache::startCorrector)
                .apply(indexes.stream().map(corrections::get).toList());
        for (int i = 0; i < indexes.size(); i++) {
          outcomes[indexes.get(i)] = answered.get(i);
        }
      } catch (PartlyUnavailableException some) {
        for (int i = 0; i < indexes.size(); i++) {
          outcomes[indexes.get(i)] = some.outcomes().get(i);
        }
        failure = each.getKey().target() + ": " + some.getMessage();
      } catch (CacheUnavailableException failed) {
        failure = each.getKey().target() + ": " + failed.getMessage();
      }
    }
    if (!failure.isEmpty()) {
      cache.topology().changed();
      throw new PartlyUnavailableException(failure, Arrays.asList(outcomes));
    }
    return Arrays.asList(outcomes);
  }

  private void closeGone(ClusterRoutes routes) {
    correctors
        .entrySet()
        .removeIf(
            each -> {
              boolean isGone = !routes.servers().containsValue(each.getKey());
              if (isGone) {
                each.getValue().close();
              }
              return isGone;
            });
  }

  /** Closes the connections; later calls fail. */
  @Override
  public synchronized void close() {
    correctors.values().forEach(BucketCorrector::close);
    correctors.clear();
  }
}
