// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.limits.check.BucketReply;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Decision;
import io.weir.limits.policy.MatchedPolicies;
import io.weir.limits.policy.MatchedPolicy;
import io.weir.topics.model.Charge;
import io.weir.topics.model.Stamp;
import java.util.ArrayList;
import java.util.List;

/** What the record of a call says of its buckets (decision 0005). */
final class Charges {
  private Charges() {}

  /**
   * Of a call the cache decided: each bucket it charged, with its stamp. Of a denied one: the
   * bucket that refused it, with cost 0, when that bucket lives.
   */
  static List<Charge> of(MatchedPolicies matched, Decision.Decided decision, long costTokens) {
    long now = decision.decidedAtEpochMicros();
    if (decision instanceof Decision.Denied denied) {
      int deciding = denied.decidingBucket();
      BucketReply reply = denied.buckets().get(deciding);
      return reply.epoch() > 0
          ? List.of(stamped(matched.evaluated().get(deciding).bucket(), 0, reply, now))
          : List.of();
    }
    List<MatchedPolicy> evaluated = matched.evaluated();
    List<Charge> charges = new ArrayList<>(evaluated.size());
    for (int i = 0; i < evaluated.size(); i++) {
      BucketReply reply = decision.buckets().get(i);
      if (reply.charged()) {
        charges.add(stamped(evaluated.get(i).bucket(), costTokens, reply, now));
      }
    }
    return charges;
  }

  private static Charge stamped(
      BucketRequest asked, long costTokens, BucketReply reply, long nowEpochMicros) {
    Stamp stamp =
        new Stamp(
            reply.epoch(),
            reply.version(),
            reply.chargedTokens(),
            asked.limit().fullAtMicros(nowEpochMicros + reply.resetMicros()));
    return new Charge(asked.bucket(), costTokens, asked.limit(), stamp);
  }

  /**
   * Of a call let through without the cache: each enforced bucket, which owes it. Shadow buckets
   * are left out: whether a cache would have charged them is not known, and they refuse nobody.
   */
  static List<Charge> unstamped(MatchedPolicies matched, long costTokens) {
    List<Charge> charges = new ArrayList<>(matched.evaluated().size());
    for (MatchedPolicy match : matched.evaluated()) {
      BucketRequest bucket = match.bucket();
      if (bucket.enforced()) {
        charges.add(new Charge(bucket.bucket(), costTokens, bucket.limit(), null));
      }
    }
    return charges;
  }
}
