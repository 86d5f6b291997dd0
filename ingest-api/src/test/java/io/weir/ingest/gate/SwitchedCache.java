// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.decision.DecisionCache;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A cache that can be made to leave every check undecided, to deny it without asking, or to answer
 * when the test says.
 */
final class SwitchedCache implements DecisionCache {
  private final DecisionCache decider;
  Decision.@Nullable Cause cause;
  Decision.@Nullable StillDenied stillDenied;
  @Nullable CompletableFuture<Decision> pending;

  /**
   * Whether the cache decides checks but their replies are lost, so that they count as undecided.
   */
  boolean losesAnswers;

  /** Runs when a decision is waited for the next time; null for nothing. */
  @Nullable Runnable whenAwaited;

  private int submitted;

  /** Why releases alone are undecided; null if they are decided as all others. */
  Decision.@Nullable Cause causeOfReleases;

  /** The bucket whose releases are CORRUPT; null if there is none. */
  @Nullable String corruptBucket;

  /** Number of submitted releases. */
  int released;

  /** Most checks that had been submitted and not yet waited for when one was waited for. */
  int mostSubmitted;

  SwitchedCache(DecisionCache decider) {
    this.decider = decider;
  }

  @Override
  public CompletableFuture<Decision> submit(Check check) {
    if (pending != null) {
      return pending;
    }
    submitted++;
    Decision.Cause now = cause;
    Decision.StillDenied denied = stillDenied;
    if ((now != null || denied != null) && losesAnswers) {
      var unused = decider.submit(check);
    }
    CompletableFuture<Decision> pending =
        denied != null
            ? CompletableFuture.completedFuture(denied)
            : now == null ? decider.submit(check) : undecided(now);
    return new AwaitedDecision(pending);
  }

  private static CompletableFuture<Decision> undecided(Decision.Cause cause) {
    return CompletableFuture.completedFuture(new Decision.Undecided(cause, "switched"));
  }

  /** A decision that notes when it is waited for. */
  private final class AwaitedDecision extends CompletableFuture<Decision> {
    private final CompletableFuture<Decision> pending;

    AwaitedDecision(CompletableFuture<Decision> pending) {
      this.pending = pending;
    }

    @Override
    public Decision join() {
      awaited();
      return pending.join();
    }

    @Override
    public <U> CompletableFuture<U> thenCompose(
        Function<? super Decision, ? extends CompletionStage<U>> next) {
      awaited();
      return pending.thenCompose(next);
    }

    @Override
    public <U> CompletableFuture<U> thenApply(Function<? super Decision, ? extends U> next) {
      awaited();
      return pending.thenApply(next);
    }

    private void awaited() {
      mostSubmitted = Math.max(mostSubmitted, submitted);
      submitted--;
      Runnable next = whenAwaited;
      whenAwaited = null;
      if (next != null) {
        next.run();
      }
    }
  }

  @Override
  public CompletableFuture<Decision> submitPeek(Check check) {
    Decision.Cause now = cause;
    return now == null ? decider.submitPeek(check) : undecided(now);
  }

  @Override
  public CompletableFuture<Decision> submitRelease(Check check) {
    released++;
    if (check.buckets().stream().anyMatch(each -> each.bucket().equals(corruptBucket))) {
      return undecided(Decision.Cause.CORRUPT);
    }
    Decision.Cause now = cause == null ? causeOfReleases : cause;
    return now == null ? decider.submitRelease(check) : undecided(now);
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
