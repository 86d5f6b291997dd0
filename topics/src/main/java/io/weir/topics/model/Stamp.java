// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.Numbers;

/**
 * The state of a bucket that the cache reported when it decided a call, to be compared with the
 * records. Immutable.
 *
 * @param epoch the bucket's epoch: microseconds since 1970 by the cache's clock when the bucket was
 *     created; a bucket that was flushed or has expired is recreated with a greater epoch; 1 to
 *     2^53 − 1
 * @param version version of the last correction applied in this epoch; 0 if none was; at most 2^53
 *     − 1
 * @param charged tokens taken from the bucket in this epoch, including this call; 0 to 2^53 − 1
 * @param fullAtEpochMicros when the bucket will be full if nothing more is taken, in microseconds
 *     since 1970 by the cache's clock: the theoretical arrival time of the generic cell rate
 *     algorithm (ITU-T I.371). For a quota, the end of the period; 0 if not known; at most {@link
 *     #MAX_FULL_AT_MICROS}
 */
public record Stamp(long epoch, long version, long charged, long fullAtEpochMicros) {
  /** Latest time at which a bucket may be full, in the year 2255. */
  public static final long MAX_FULL_AT_MICROS = Numbers.MAX;

  public Stamp {
    Numbers.require("epoch", epoch, 1);
    Numbers.require("version", version, 0);
    Numbers.require("charged", charged, 0);
    Numbers.require("full_at_us", fullAtEpochMicros, 0);
  }
}
