// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.check;

import io.weir.limits.ConcurrencyLimit;
import io.weir.limits.SlotClaim;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A request to the cache for one call: take {@code cost} tokens from every bucket, or from no
 * bucket.
 *
 * @param buckets the buckets, 1 to {@value #MAX_BUCKETS}, with distinct keys, all in one hash slot
 * @param cost number of tokens, ≥ 1; from a {@link ConcurrencyLimit} the call takes one slot,
 *     whatever the cost
 * @param claim the claim to slots; null only if no bucket has a {@link ConcurrencyLimit}
 * @param inBatch whether the check belongs to a batch request; single checks have priority over
 *     batch requests
 */
public record Check(
    List<BucketRequest> buckets, long cost, @Nullable SlotClaim claim, boolean inBatch) {
  /** Maximum number of buckets in one check. The maximum bounds the run time of one script call. */
  public static final int MAX_BUCKETS = 16;

  public Check {
    buckets = List.copyOf(buckets);
    if (buckets.isEmpty() || buckets.size() > MAX_BUCKETS) {
      throw new IllegalArgumentException(
          "a check must have between 1 and " + MAX_BUCKETS + " buckets, but has " + buckets.size());
    }
    if (buckets.stream().map(BucketRequest::bucket).distinct().count() != buckets.size()) {
      throw new IllegalArgumentException(
          "the buckets of a check must be distinct, but are " + buckets);
    }
    if (cost < 1) {
      throw new IllegalArgumentException("cost must be at least 1, but is " + cost);
    }
    if (claim == null && buckets.stream().anyMatch(BucketRequest::hasSlots)) {
      throw new IllegalArgumentException(
          "a check must have a claim if a bucket has slots; the buckets are " + buckets);
    }
  }

  /** Creates a single check. */
  public Check(List<BucketRequest> buckets, long cost, @Nullable SlotClaim claim) {
    this(buckets, cost, claim, false);
  }

  /** Creates a single check of buckets without slots. */
  public Check(List<BucketRequest> buckets, long cost) {
    this(buckets, cost, null);
  }

  /** Returns a check of the given buckets for the same call. */
  public Check of(List<BucketRequest> some) {
    return new Check(some, cost, claim, inBatch);
  }

  /** Returns this check as part of a batch request. */
  public Check asPartOfBatch() {
    return new Check(buckets, cost, claim, true);
  }
}
