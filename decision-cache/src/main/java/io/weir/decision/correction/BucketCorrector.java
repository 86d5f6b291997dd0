// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.correction;

import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.CorrectionOutcome;
import java.util.List;

/**
 * Applies corrections to the buckets of a decision cache, each at most once. Thread-safe; any
 * number of correctors may share one cache.
 */
public interface BucketCorrector extends AutoCloseable {
  /** Maximum number of corrections in one call. */
  int MAX_BATCH = 64;

  /**
   * Applies corrections in order. Blocks until the cache has replied for all of them.
   *
   * @param corrections 1 to {@value #MAX_BATCH}
   * @return one outcome per correction, in order
   * @throws IllegalArgumentException if there are none or too many
   * @throws CacheUnavailableException if the cache did not reply. Some, all or none of the
   *     corrections may have been applied, and all may be applied again. A cache on several servers
   *     throws a {@link PartlyUnavailableException}, which contains the outcomes of the servers
   *     that replied
   */
  List<CorrectionOutcome> apply(List<BoundedCorrection> corrections)
      throws CacheUnavailableException;

  @Override
  void close();

  /**
   * Returns the corrections if their number is allowed in one call.
   *
   * @throws IllegalArgumentException if there are none or too many
   */
  static List<BoundedCorrection> requireBatch(List<BoundedCorrection> corrections) {
    if (corrections.isEmpty() || corrections.size() > MAX_BATCH) {
      throw new IllegalArgumentException(
          "a call must have 1 to " + MAX_BATCH + " corrections, has " + corrections.size());
    }
    return corrections;
  }
}
