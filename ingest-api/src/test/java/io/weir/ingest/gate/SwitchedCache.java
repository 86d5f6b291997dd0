// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.decision.DecisionCache;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import org.jspecify.annotations.Nullable;

/** A cache that can be made to leave every check undecided, or to deny it without asking. */
final class SwitchedCache implements DecisionCache {
  private final DecisionCache decider;
  Decision.@Nullable Cause cause;
  Decision.@Nullable StillDenied stillDenied;
  private int submitted;

  /** Most checks that had been submitted and not yet waited for when one was waited for. */
  int mostSubmitted;

  SwitchedCache(DecisionCache decider) {
    this.decider = decider;
  }

  @Override
  public PendingDecision submit(Check check) {
    submitted++;
    Decision.Cause now = cause;
    Decision.StillDenied denied = stillDenied;
    PendingDecision pending =
        denied != null
            ? () -> denied
            : now == null ? decider.submit(check) : () -> new Decision.Undecided(now, "switched");
    return () -> {
      mostSubmitted = Math.max(mostSubmitted, submitted);
      submitted--;
      return pending.await();
    };
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
