// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

/** How much one bucket holds and how it fills again. Immutable. */
public sealed interface BucketLimit permits TokenBucketLimit, QuotaLimit {
  /** Most tokens the bucket holds, 1 to 2^53 − 1. */
  long capacityTokens();
}
