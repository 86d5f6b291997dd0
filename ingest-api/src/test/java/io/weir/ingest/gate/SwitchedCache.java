// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.decision.DecisionCache;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import org.jspecify.annotations.Nullable;

/** A cache that can be made to leave every check undecided. */
final class SwitchedCache implements DecisionCache {
  private final DecisionCache decider;
  Decision.@Nullable Cause cause;

  SwitchedCache(DecisionCache decider) {
    this.decider = decider;
  }

  @Override
  public Decision take(Check check) {
    Decision.Cause now = cause;
    return now == null ? decider.take(check) : new Decision.Undecided(now, "switched");
  }

  @Override
  public Decision peek(Check check) {
    Decision.Cause now = cause;
    return now == null ? decider.peek(check) : new Decision.Undecided(now, "switched");
  }

  @Override
  public Health check() {
    return new Health(cause == null, "");
  }

  @Override
  public void close() {
    decider.close();
  }
}
