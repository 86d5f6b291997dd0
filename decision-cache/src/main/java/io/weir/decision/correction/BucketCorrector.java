// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.correction;

import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.CorrectionOutcome;
import java.util.List;

/**
 * Applies corrections to the buckets of a decision cache, each at most once. Safe for threads, and
 * for any number of correctors over one cache.
 */
public interface BucketCorrector extends AutoCloseable {
  /** Most corrections in one call. */
  int MAX_BATCH = 64;

  /**
   * Applies corrections in their order; blocks until the cache has answered for all of them.
   *
   * @param corrections 1 to {@value #MAX_BATCH}
   * @return one outcome each, in order
   * @throws IllegalArgumentException when there are none or too many
   * @throws CacheUnavailableException when the cache did not answer: some, all or none may have
   *     been applied, and all may be given again
   */
  List<CorrectionOutcome> apply(List<BoundedCorrection> corrections)
      throws CacheUnavailableException;

  @Override
  void close();

  /** Gives the corrections back when there are as many as one call takes. */
  static List<BoundedCorrection> requireBatch(List<BoundedCorrection> corrections) {
    if (corrections.isEmpty() || corrections.size() > MAX_BATCH) {
      throw new IllegalArgumentException(
          "a call takes 1 to " + MAX_BATCH + " corrections, not " + corrections.size());
    }
    return corrections;
  }
}
