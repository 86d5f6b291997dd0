// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.correction;

import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.CorrectionOutcome;
import java.util.List;

/**
 * Applies corrections to the buckets of a decision cache, each correction at most once. Several
 * correctors may use the same cache. Thread-safe.
 */
public interface BucketCorrector extends AutoCloseable {
  /** Maximum number of corrections in one call. */
  int MAX_BATCH = 64;

  /**
   * Applies corrections in the given order. Blocks until the cache has replied for all corrections.
   *
   * @param corrections 1 to {@value #MAX_BATCH}
   * @return one outcome per correction, in the same order
   * @throws IllegalArgumentException if the number of corrections is not permitted
   * @throws CacheUnavailableException if the cache did not reply. Some of the corrections may have
   *     been applied. The caller may apply all corrections again. A cache on several servers throws
   *     a {@link PartlyUnavailableException} with the outcomes of the servers that replied
   */
  List<CorrectionOutcome> apply(List<BoundedCorrection> corrections)
      throws CacheUnavailableException;

  @Override
  void close();

  /**
   * Returns the corrections if their number is 1 to {@value #MAX_BATCH}.
   *
   * @throws IllegalArgumentException if the number of corrections is not permitted
   */
  static List<BoundedCorrection> requireBatch(List<BoundedCorrection> corrections) {
    if (corrections.isEmpty() || corrections.size() > MAX_BATCH) {
      throw new IllegalArgumentException(
          "a call must have between 1 and "
              + MAX_BATCH
              + " corrections, but has "
              + corrections.size());
    }
    return corrections;
  }
}
