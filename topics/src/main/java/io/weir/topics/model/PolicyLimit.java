// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

/** The limit that a policy sets: by a token bucket, or by calendar periods. Immutable. */
public sealed interface PolicyLimit permits TokenBucketLimit, CalendarQuota {
  /** Tokens of a full bucket, or of a whole period; 0 denies every call. */
  long capacityTokens();
}
