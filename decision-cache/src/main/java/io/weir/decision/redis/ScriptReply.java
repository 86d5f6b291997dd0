// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.weir.limits.check.BucketReply;
import io.weir.limits.check.CheckDecider;
import io.weir.limits.check.Decision;
import io.weir.limits.check.Decision.Cause;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/** The reply of {@code take_tokens.lua} to the checks of one call. Immutable. */
final class ScriptReply {
  /** Number of bytes before the reply to the first check. */
  static final int HEAD_BYTES = 8 + 1;

  private static final int CHECK_BYTES = 1 + 1;
  private static final int BUCKET_BYTES = 1 + 6 * 8;

  private static final int DENIED = 0;
  private static final int ALLOWED = 1;
  private static final int COST_EXCEEDS_CAPACITY = 2;
  private static final int CORRUPT = 3;
  private static final int COLD = 4;

  private static final int SUFFICIENT_FLAG = 1;
  private static final int CHARGED_FLAG = 2;

  private final byte[] bytes;

  /**
   * Creates a reply.
   *
   * @param bytes the received bytes, at least {@link #HEAD_BYTES}; must not be modified
   */
  ScriptReply(byte[] bytes) {
    this.bytes = bytes;
  }

  /** Returns the number of bytes of the reply to a check with the given number of buckets. */
  static int bytesOf(int buckets) {
    return CHECK_BYTES + buckets * BUCKET_BYTES;
  }

  /** Returns whether the cache was warm. */
  boolean warm() {
    return bytes[Long.BYTES] != 0;
  }

  /**
   * Decodes the reply to one check.
   *
   * @param offset start of the reply to the check; the reply must be complete
   * @param buckets number of buckets of the check
   */
  Decision decode(int offset, int buckets) {
    ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    long nowEpochMicros = buffer.getLong(0);
    buffer.position(offset);
    int verdict = Byte.toUnsignedInt(buffer.get());
    int deciding = Byte.toUnsignedInt(buffer.get());
    if (verdict == CORRUPT) {
      return corrupt("the value of a key of the check is not the state of a bucket");
    }
    if (verdict == COLD) {
      return new Decision.Undecided(Cause.COLD, CheckDecider.COLD_DETAIL);
    }
    List<BucketReply> replies = new ArrayList<>(buckets);
    for (int i = 0; i < buckets; i++) {
      replies.add(bucket(buffer));
    }
    if (verdict == ALLOWED) {
      return new Decision.Allowed(nowEpochMicros, replies);
    }
    if ((verdict == DENIED || verdict == COST_EXCEEDS_CAPACITY) && deciding < buckets) {
      return new Decision.Denied(
          nowEpochMicros, replies, deciding, verdict == COST_EXCEEDS_CAPACITY);
    }
    return corrupt(
        "the reply must have a valid verdict and deciding bucket, but has verdict "
            + verdict
            + " and deciding bucket "
            + deciding);
  }

  private static BucketReply bucket(ByteBuffer buffer) {
    int flags = buffer.get();
    return new BucketReply(
        (flags & SUFFICIENT_FLAG) != 0,
        buffer.getLong(),
        buffer.getLong(),
        buffer.getLong(),
        buffer.getLong(),
        buffer.getLong(),
        buffer.getLong(),
        (flags & CHARGED_FLAG) != 0);
  }

  static Decision.Undecided corrupt(String detail) {
    return new Decision.Undecided(Cause.CORRUPT, detail);
  }
}
