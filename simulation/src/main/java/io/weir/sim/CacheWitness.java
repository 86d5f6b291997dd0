// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.limits.BucketState;
import io.weir.limits.check.Check;
import io.weir.limits.check.CheckDecider;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.CorrectionRule;
import org.jspecify.annotations.Nullable;

/** Sees what the cache does, as it does it. */
interface CacheWitness {
  /** A check was decided; nothing of it is kept yet. */
  void decided(Check check, CheckDecider.Outcome outcome);

  /** A correction was applied, or not; nothing of it is kept yet. */
  void corrected(
      BoundedCorrection correction, @Nullable BucketState before, CorrectionRule.Result result);

  /**
   * The cache has lost its state, or some of it.
   *
   * @param toOlder whether it has gone back to an older state
   * @param seen whether the nodes can see it
   */
  void cacheLost(boolean toOlder, boolean seen);

  /** The cache's clock was set back. */
  void clockSetBack(long byMicros);
}
