// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import org.jspecify.annotations.Nullable;

/**
 * The limit that a policy sets: of buckets that last, or of a bucket for each period. Immutable.
 */
public sealed interface PolicyLimit permits TokenBucketLimit, PeriodicLimit {
  /** Tokens of a full bucket, or of a whole period; 0 denies every call. */
  long capacityTokens();

  /** Whether what was used comes back while the bucket lives. */
  boolean refills();

  /** The limit of its buckets where they last; null where each period has a bucket of its own. */
  @Nullable BucketLimit lasting();

  /**
   * The limit of a bucket.
   *
   * @param period the bucket's period; null where buckets last
   */
  BucketLimit ofBucket(PeriodicLimit.@Nullable Span period);

  /** Whether every call that this admits, the other would admit, too, as far as can be told. */
  boolean isNoWiderThan(PolicyLimit other);

  /** In words, for people. */
  String describe();
}
