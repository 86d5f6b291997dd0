// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import io.weir.e2e.healing.Rule.Place;
import io.weir.limits.TokenBucketLimit;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/**
 * A bucket as Redis keeps it, read from its bytes at a moment of Redis' clock.
 *
 * @param bucket its key
 * @param atEpochMicros when it was read
 * @param epoch this life of the bucket, 0 when nothing is kept
 * @param version version of the last correction applied
 * @param chargedTokens tokens taken in this epoch
 * @param levelTokens tokens it holds, refill up to the moment of reading included
 */
record KeptBucket(
    String bucket,
    long atEpochMicros,
    long epoch,
    long version,
    long chargedTokens,
    double levelTokens) {
  /** Form of the state that is read here, see {@code bucket.lua}. */
  private static final int FORM = 3;

  static KeptBucket of(Place place, long atEpochMicros, byte @Nullable [] state) {
    double capacity = (double) place.limit().capacityTokens();
    if (state == null) {
      return new KeptBucket(place.key(), atEpochMicros, 0, 0, 0, capacity);
    }
    ByteBuffer fields = ByteBuffer.wrap(state).order(ByteOrder.LITTLE_ENDIAN);
    byte form = fields.get();
    if (form != FORM) {
      throw new IllegalStateException("a bucket's state has form " + form + ", not " + FORM);
    }
    double units = (double) fields.getLong();
    double unitsPerToken = (double) fields.getLong();
    long lastEpochMicros = fields.getLong();
    long epoch = fields.getLong();
    fields.getLong(); // the life that the last correction spoke of
    long version = fields.getLong();
    long charged = fields.getLong();
    // a quota keeps what was used, as a negative number; a bucket what it held when last written
    double level =
        place.limit() instanceof TokenBucketLimit bucket
            ? units / unitsPerToken + refillTokens(bucket, atEpochMicros - lastEpochMicros)
            : capacity + units;
    return new KeptBucket(
        place.key(), atEpochMicros, epoch, version, charged, Math.min(capacity, level));
  }

  private static double refillTokens(TokenBucketLimit bucket, long micros) {
    return (double) Math.max(0, micros) * bucket.refillTokens() / bucket.refillPeriodMicros();
  }
}
