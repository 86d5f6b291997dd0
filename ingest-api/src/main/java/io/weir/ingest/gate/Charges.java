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

/** Creates the charges that the record of a call lists for its buckets (decision 0005). */
final class Charges {
  private Charges() {}

  /**
   * Returns the charges of a call that the cache decided. An allowed call has a charge with a stamp
   * for each charged bucket. A denied call has one charge with cost 0, for the bucket that denied
   * the call, if this bucket exists. Omits the buckets of policies that are not recorded.
   */
  static List<Charge> of(MatchedPolicies matched, Decision.Decided decision, long costTokens) {
    long now = decision.decidedAtEpochMicros();
    if (decision instanceof Decision.Denied denied) {
      int deciding = denied.decidingBucket();
      BucketReply reply = denied.buckets().get(deciding);
      MatchedPolicy match = matched.evaluated().get(deciding);
      return reply.epoch() > 0 && match.policy().isRecorded()
          ? List.of(stamped(match.bucket(), 0, reply, now))
          : List.of();
    }
    List<MatchedPolicy> evaluated = matched.evaluated();
    List<Charge> charges = new ArrayList<>(evaluated.size());
    for (int i = 0; i < evaluated.size(); i++) {
      BucketReply reply = decision.buckets().get(i);
      if (reply.charged() && evaluated.get(i).policy().isRecorded()) {
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
   * Returns the charges of a call that was allowed without the cache: the cost, without a stamp,
   * for each enforced bucket of a recorded policy. Shadow buckets are omitted: they deny no call,
   * and the node does not know whether the cache would have charged them.
   */
  static List<Charge> unstamped(MatchedPolicies matched, long costTokens) {
    List<Charge> charges = new ArrayList<>(matched.evaluated().size());
    for (MatchedPolicy match : matched.evaluated()) {
      BucketRequest bucket = match.bucket();
      if (bucket.enforced() && match.policy().isRecorded()) {
        charges.add(new Charge(bucket.bucket(), costTokens, bucket.limit(), null));
      }
    }
    return charges;
  }
}
