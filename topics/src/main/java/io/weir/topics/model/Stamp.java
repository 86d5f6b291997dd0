// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.Numbers;

/**
 * What the cache said of a bucket when it decided a call: its word, to be compared with the
 * records.
 *
 * @param epoch identifies this life of the bucket: microseconds since 1970 by the cache's clock
 *     when the bucket was created; a bucket that was flushed or has expired returns with a greater
 *     one; 1 to 2^53 − 1
 * @param version version of the last correction applied in this epoch, 0 when none was; at most
 *     2^53 − 1
 * @param charged tokens taken from the bucket in this epoch, this call included; 0 to 2^53 − 1
 * @param fullAtEpochMicros when the bucket will be full if nothing more is taken, in microseconds
 *     since 1970 by the cache's clock: the theoretical arrival time of the generic cell rate
 *     algorithm (ITU-T I.371). The end of the period for a quota; 0 when not known; at most {@link
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
