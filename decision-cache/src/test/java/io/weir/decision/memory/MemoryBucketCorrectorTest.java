// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.memory;

import static org.junit.jupiter.api.Assertions.assertThrows;

import io.weir.decision.BucketCorrectorContract;
import io.weir.decision.DecisionCache;
import io.weir.decision.correction.BucketCorrector;
import io.weir.decision.correction.CacheUnavailableException;
import io.weir.limits.QuotaLimit;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.Correction;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests the contract of correctors for the memory cache. */
class MemoryBucketCorrectorTest extends BucketCorrectorContract {
  private static final long NOW = 1_800_000_000_000_000L;

  private final MemoryDecisionCache cache = new MemoryDecisionCache(() -> NOW);
  private final BucketCorrector corrector = new MemoryBucketCorrector(cache);

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
    return NOW;
  }

  @Test
  void apply_closedCache_isUnavailable() {
    cache.close();
    Correction correction =
        new Correction(
            "b", new QuotaLimit(1, NOW), 1, 1, 1, 1, 1, 0, Correction.Cause.RESTORE, 1, 2, 0);

    assertThrows(
        CacheUnavailableException.class,
        () -> corrector.apply(List.of(new BoundedCorrection(correction, 0))));
  }
}
