// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.check;

import java.util.List;

/**
 * The question to the cache for one call: take {@code cost} tokens from every bucket, or from none.
 *
 * @param buckets the buckets, 1 to {@value #MAX_BUCKETS}, with distinct keys, all in one hash slot
 * @param cost tokens, ≥ 1
 */
public record Check(List<BucketRequest> buckets, long cost) {
  /** Most buckets in one check; bounds the work of one script call. */
  public static final int MAX_BUCKETS = 16;

  public Check {
    buckets = List.copyOf(buckets);
    if (buckets.isEmpty() || buckets.size() > MAX_BUCKETS) {
      throw new IllegalArgumentException(
          "a check asks 1 to " + MAX_BUCKETS + " buckets, not " + buckets.size());
    }
    if (buckets.stream().map(BucketRequest::bucket).distinct().count() != buckets.size()) {
      throw new IllegalArgumentException("a check must not ask one bucket twice: " + buckets);
    }
    if (cost < 1) {
      throw new IllegalArgumentException("cost must be at least 1, is " + cost);
    }
  }
}
