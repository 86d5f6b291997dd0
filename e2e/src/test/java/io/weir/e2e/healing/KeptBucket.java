// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import io.weir.e2e.healing.Rule.Place;
import io.weir.topics.model.TokenBucketLimit;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/**
 * A bucket as Redis keeps it, read from its bytes at a moment of Redis' clock.
 *
 * @param bucket its key
 * @param atEpochMicros when it was read
 * @param epoch this life of the bucket, 0 when nothing is kept
 * @param chargedTokens tokens taken in this epoch
 * @param levelTokens tokens it holds, refill up to the moment of reading included
 */
record KeptBucket(
    String bucket, long atEpochMicros, long epoch, long chargedTokens, double levelTokens) {
  /** What is kept is not written anew by time, so it is read with the refill since. */
  static KeptBucket of(Place place, long atEpochMicros, byte @Nullable [] state) {
    double capacity = (double) place.limit().capacityTokens();
    if (state == null) {
      return new KeptBucket(place.key(), atEpochMicros, 0, 0, capacity);
    }
    ByteBuffer fields = ByteBuffer.wrap(state).order(ByteOrder.LITTLE_ENDIAN);
    fields.get();
    double units = (double) fields.getLong();
    double unitsPerToken = (double) fields.getLong();
    long last = fields.getLong();
    long epoch = fields.getLong();
    long charged = fields.getLong();
    double refill =
        place.limit() instanceof TokenBucketLimit bucket
            ? Math.max(0, atEpochMicros - last)
                * (double) bucket.refillTokens()
                / bucket.refillPeriodMicros()
            : 0;
    double level = Math.min(capacity, units / unitsPerToken + refill);
    return new KeptBucket(place.key(), atEpochMicros, epoch, charged, level);
  }
}
