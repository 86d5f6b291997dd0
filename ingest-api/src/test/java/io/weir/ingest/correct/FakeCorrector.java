// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.decision.correction.BucketCorrector;
import io.weir.decision.correction.CacheUnavailableException;
import io.weir.decision.correction.PartlyUnavailableException;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.Correction;
import io.weir.limits.correction.CorrectionOutcome;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Keeps the newest correction of each bucket in memory; can be made not to answer. */
final class FakeCorrector implements BucketCorrector {
  /** A call that was answered. */
  record Call(long atNanos, List<BoundedCorrection> corrections) {}

  private final Map<String, Correction> newest = new HashMap<>();
  private final List<Call> calls = new ArrayList<>();
  private final List<Correction> changed = new ArrayList<>();
  private boolean available = true;
  private int refusals;
  private String away = "";

  @Override
  public synchronized List<CorrectionOutcome> apply(List<BoundedCorrection> corrections)
      throws CacheUnavailableException {
    if (!available) {
      refusals++;
      throw new CacheUnavailableException("made not to answer");
    }
    if (corrections.isEmpty() || corrections.size() > MAX_BATCH) {
      throw new IllegalArgumentException("1 to " + MAX_BATCH + ", are " + corrections.size());
    }
    calls.add(new Call(System.nanoTime(), List.copyOf(corrections)));
    List<@Nullable CorrectionOutcome> outcomes = new ArrayList<>();
    for (BoundedCorrection bounded : corrections) {
      boolean isAway = bounded.correction().bucket().equals(away);
      outcomes.add(isAway ? null : apply(bounded.correction()));
    }
    if (outcomes.contains(null)) {
      throw new PartlyUnavailableException("made not to answer for " + away, outcomes);
    }
    return outcomes.stream().map(Objects::requireNonNull).toList();
  }

  private CorrectionOutcome apply(Correction correction) {
    Correction kept = newest.get(correction.bucket());
    if (kept != null
        && (kept.epoch() > correction.epoch()
            || (kept.epoch() == correction.epoch() && kept.version() >= correction.version()))) {
      return new CorrectionOutcome(CorrectionOutcome.Kind.STALE, 0, false);
    }
    newest.put(correction.bucket(), correction);
    changed.add(correction);
    return new CorrectionOutcome(
        kept == null ? CorrectionOutcome.Kind.CREATED : CorrectionOutcome.Kind.APPLIED, -3, false);
  }

  synchronized void setAvailable(boolean answers) {
    available = answers;
  }

  /** Makes corrections of one bucket unanswered; of none if it is empty. */
  synchronized void setAway(String bucket) {
    away = bucket;
  }

  /** Calls that were not answered. */
  synchronized int refusals() {
    return refusals;
  }

  synchronized List<Call> calls() {
    return List.copyOf(calls);
  }

  /** Corrections that changed something, in their order. */
  synchronized List<Correction> changed() {
    return List.copyOf(changed);
  }

  /** Versions by bucket. */
  synchronized Map<String, Long> versions() {
    Map<String, Long> versions = new HashMap<>();
    newest.forEach((bucket, correction) -> versions.put(bucket, correction.version()));
    return versions;
  }

  @Override
  public void close() {}
}
