// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.limits.BucketState;
import io.weir.limits.check.Check;
import io.weir.limits.check.CheckDecider;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.CorrectionRule;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Observes the changes of the cache as they happen. */
interface CacheWitness {
  /** Called when a check was decided, before any of its effects are stored. */
  void decided(Check check, CheckDecider.Outcome outcome);

  /** Called when a correction was applied or refused, before any of its effects are stored. */
  void corrected(
      BoundedCorrection correction, @Nullable BucketState before, CorrectionRule.Result result);

  /**
   * Called when the cache has lost its state, or part of it.
   *
   * @param behind tokens, by bucket, that Redis charged after the older state to which it has
   *     returned; empty if the cache has lost everything
   * @param seen whether the nodes can detect the loss
   */
  void cacheLost(Map<String, Long> behind, boolean seen);

  /** Called when the cache's clock was set back. */
  void clockSetBack(long byMicros);
}
