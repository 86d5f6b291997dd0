// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import io.weir.e2e.healing.Rule.Place;
import io.weir.limits.QuotaLimit;
import io.weir.testing.Await;
import java.util.ArrayList;
import java.util.List;

/** Compares the cache with the oracle after the last call. */
final class Standing {
  /** One token is one refill interval; the rest is for the oracle's whole milliseconds. */
  static final double BUCKET_TOLERANCE_TOKENS = 1.05;

  private Standing() {}

  /**
   * Waits until every bucket is right: token buckets within one token of the oracle, quotas
   * exactly. One that owes more than its debt cap is only not to hold less than that: what is
   * beyond the cap is forgiven when it is collected, and refill goes on from there.
   */
  static void awaitRight(Oracle oracle, Eye eye) throws Exception {
    Await.until(
        () -> {
          List<String> wrong = wrong(oracle, eye);
          return wrong.size()
              + " of "
              + oracle.buckets().size()
              + " buckets are wrong, first "
              + wrong.stream().limit(5).toList();
        },
        () -> wrong(oracle, eye).isEmpty());
  }

  /** Buckets that are wrong now, and how. */
  static List<String> wrong(Oracle oracle, Eye eye) {
    List<Place> places = oracle.buckets().stream().map(oracle::place).toList();
    List<String> wrong = new ArrayList<>();
    for (KeptBucket kept : eye.look(places)) {
      Place place = oracle.place(kept.bucket());
      double exact = oracle.levelAfterAll(kept.bucket(), kept.atEpochMicros());
      boolean isQuota = place.limit() instanceof QuotaLimit;
      double cap = isQuota ? Double.MAX_VALUE : (double) place.rule().debtCapTokens();
      double should = Math.max(exact, -cap);
      double tolerance = isQuota ? 0 : BUCKET_TOLERANCE_TOKENS;
      double excess = kept.levelTokens() - should;
      if (excess < -tolerance || (excess > tolerance && exact > -cap)) {
        wrong.add(kept + ", should be " + should);
      }
    }
    return wrong;
  }

  /**
   * Looks at which a bucket held more than the oracle knows it should: a credit too much.
   *
   * @param seen looks at buckets
   */
  static List<String> tooFull(Oracle oracle, List<KeptBucket> seen) {
    return wrongBy(1, oracle, seen);
  }

  /**
   * Looks at which a bucket held less than the oracle knows it should: a debit too much.
   *
   * @param seen looks at buckets
   */
  static List<String> tooEmpty(Oracle oracle, List<KeptBucket> seen) {
    return wrongBy(-1, oracle, seen);
  }

  private static List<String> wrongBy(int sign, Oracle oracle, List<KeptBucket> seen) {
    List<String> wrong = new ArrayList<>();
    for (KeptBucket kept : seen) {
      if (oracle.buckets().contains(kept.bucket())
          && sign * (kept.levelTokens() - oracle.levelAt(kept)) > BUCKET_TOLERANCE_TOKENS) {
        wrong.add(kept + ", should be " + oracle.levelAt(kept));
      }
    }
    return wrong;
  }
}
