// SPDX-License-Identifier: Apache-2.0
package io.weir.decision;

import io.weir.topics.model.TokenBucketLimit;

/**
 * What is kept of one bucket. A bucket that is not kept is full and has no epoch.
 *
 * @param units content, in units of which {@code unitsPerToken} make a token; 0 to 2^53 − 1
 * @param unitsPerToken worth of a token when the content was written; a limit that has changed
 *     since is recognised by it
 * @param lastEpochMicros up to when refill has been added, in microseconds since 1970 by the
 *     cache's clock; advances by whole ticks, so that the part of a tick is carried
 * @param epoch this life of the bucket: microseconds since 1970 by the cache's clock when it was
 *     first charged; 0 for a bucket that never was
 * @param chargedTokens tokens taken in this epoch
 */
public record BucketState(
    long units, long unitsPerToken, long lastEpochMicros, long epoch, long chargedTokens) {
  public BucketState {
    requireRange("units", units, 0);
    requireRange("unitsPerToken", unitsPerToken, 1);
    requireRange("lastEpochMicros", lastEpochMicros, 0);
    requireRange("epoch", epoch, 0);
    requireRange("chargedTokens", chargedTokens, 0);
  }

  private static void requireRange(String field, long value, long min) {
    if (value < min || value >= TokenBucketLimit.EXACT_BELOW) {
      throw new IllegalArgumentException(field + " must be " + min + " to 2^53 − 1, is " + value);
    }
  }
}
