// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

/**
 * What the cache said of a bucket when it decided a call: its word, to be compared with the
 * records.
 *
 * @param epoch identifies this life of the bucket: microseconds since 1970 by the cache's clock
 *     when the bucket was created; a bucket that was flushed or has expired returns with a greater
 *     one
 * @param version version of the last correction applied in this epoch, 0 when none was
 * @param charged tokens taken from the bucket in this epoch, this call included; ≥ 0
 * @param fullAtEpochMicros when the bucket will be full if nothing more is taken, in microseconds
 *     since 1970 by the cache's clock: the theoretical arrival time of the generic cell rate
 *     algorithm (ITU-T I.371). The end of the period for a quota; 0 when not known
 */
public record Stamp(long epoch, long version, long charged, long fullAtEpochMicros) {
  public Stamp {
    if (epoch < 1 || version < 0 || charged < 0 || fullAtEpochMicros < 0) {
      throw new IllegalArgumentException(
          "a stamp has epoch >= 1, version, charged and full_at_us >= 0, is epoch "
              + epoch
              + ", version "
              + version
              + ", charged "
              + charged
              + ", full_at_us "
              + fullAtEpochMicros);
    }
  }
}
