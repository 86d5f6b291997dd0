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
  /** Forms of the state, see {@code bucket.lua}: of any bucket, and the short one of most. */
  private static final int FORM = 3;

  private static final int SHORT_FORM = 4;

  static KeptBucket of(Place place, long atEpochMicros, byte @Nullable [] state) {
    if (state == null) {
      double capacity = (double) place.limit().capacityTokens();
      return new KeptBucket(place.key(), atEpochMicros, 0, 0, 0, capacity);
    }
    ByteBuffer fields = ByteBuffer.wrap(state).order(ByteOrder.LITTLE_ENDIAN);
    byte form = fields.get();
    return switch (form) {
      case FORM -> ofForm3(place, atEpochMicros, fields);
      case SHORT_FORM -> ofForm4(place, atEpochMicros, fields);
      default -> throw new IllegalStateException("a bucket's state has form " + form);
    };
  }

  private static KeptBucket ofForm3(Place place, long atEpochMicros, ByteBuffer fields) {
    long units = fields.getLong();
    long unitsPerToken = fields.getLong();
    long lastEpochMicros = fields.getLong();
    long epoch = fields.getLong();
    fields.getLong(); // the life that the last correction spoke of
    long version = fields.getLong();
    double level = level(place, units, unitsPerToken, atEpochMicros - lastEpochMicros);
    return new KeptBucket(place.key(), atEpochMicros, epoch, version, fields.getLong(), level);
  }

  private static KeptBucket ofForm4(Place place, long atEpochMicros, ByteBuffer fields) {
    long units = signed(fields, 6);
    long unitsPerToken = signed(fields, 5);
    long since = signed(fields, 6);
    long epoch = signed(fields, 7);
    double level = level(place, units, unitsPerToken, atEpochMicros - (epoch + since));
    return new KeptBucket(place.key(), atEpochMicros, epoch, 0, signed(fields, 3), level);
  }

  /** Reads a little-endian number in two's complement. */
  private static long signed(ByteBuffer fields, int bytes) {
    long value = 0;
    for (int i = 0; i < bytes; i++) {
      value |= Byte.toUnsignedLong(fields.get()) << (Byte.SIZE * i);
    }
    int unused = Long.SIZE - Byte.SIZE * bytes;
    return value << unused >> unused;
  }

  /** A quota keeps what was used, as a negative number; a bucket what it held when last written. */
  private static double level(Place place, long units, long unitsPerToken, long sinceMicros) {
    double capacity = (double) place.limit().capacityTokens();
    double level =
        place.limit() instanceof TokenBucketLimit bucket
            ? (double) units / unitsPerToken + refillTokens(bucket, sinceMicros)
            : capacity + units;
    return Math.min(capacity, level);
  }

  private static double refillTokens(TokenBucketLimit bucket, long micros) {
    return (double) Math.max(0, micros) * bucket.refillTokens() / bucket.refillPeriodMicros();
  }
}
