// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.memory;

import io.weir.decision.correction.BucketCorrector;
import io.weir.decision.correction.CacheUnavailableException;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.CorrectionOutcome;
import java.util.List;

/** Corrector of the buckets of a {@link MemoryDecisionCache}. Thread-safe. */
final class MemoryBucketCorrector implements BucketCorrector {
  private final MemoryDecisionCache cache;

  /** Creates the corrector of a cache. */
  public MemoryBucketCorrector(MemoryDecisionCache cache) {
    this.cache = cache;
  }

  @Override
  public List<CorrectionOutcome> apply(List<BoundedCorrection> corrections)
      throws CacheUnavailableException {
    return cache.correct(BucketCorrector.requireBatch(corrections));
  }

  /** Does nothing, because the owner of the cache closes the cache. */
  @Override
  public void close() {}
}
