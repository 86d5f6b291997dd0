// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.Numbers;

/**
 * The state of a bucket that the cache reported when the cache decided a call. The aggregator
 * compares stamps with the records. Immutable.
 *
 * @param epoch the bucket epoch: when the cache created the bucket, in microseconds since 1970 by
 *     the cache's clock; 1 to 2^53 − 1. After a flush or an expiry, the bucket has a greater epoch
 * @param version version of the last correction of this epoch; 0 without a correction; at most 2^53
 *     − 1
 * @param charged number of tokens taken in this epoch, including this call; 0 to 2^53 − 1
 * @param fullAtEpochMicros when the bucket will be full if no call takes more tokens, in
 *     microseconds since 1970 by the cache's clock. 0 if the time is unknown; at most {@link
 *     #MAX_FULL_AT_MICROS}. For a token bucket, the theoretical arrival time of the generic cell
 *     rate algorithm (ITU-T I.371). For a quota, the end of the period
 */
public record Stamp(long epoch, long version, long charged, long fullAtEpochMicros) {
  /** Maximum of {@code fullAtEpochMicros}, in the year 2255. */
  public static final long MAX_FULL_AT_MICROS = Numbers.MAX;

  public Stamp {
    Numbers.require("epoch", epoch, 1);
    Numbers.require("version", version, 0);
    Numbers.require("charged", charged, 0);
    Numbers.require("full_at_us", fullAtEpochMicros, 0);
  }
}
