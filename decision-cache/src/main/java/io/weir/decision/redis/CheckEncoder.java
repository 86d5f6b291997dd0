// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.weir.decision.BucketRequest;
import io.weir.decision.Check;
import io.weir.topics.model.TokenBucketLimit;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Packs a check as {@code take_tokens.lua} reads it. Safe for threads. */
final class CheckEncoder {
  private static final int HEAD_BYTES = 1 + 1 + 8;
  private static final int LIMIT_BYTES = 4 * 8;

  /** Limits whose integers are remembered; above any policy set, and small. */
  private static final int MAX_LIMITS = 4_096;

  private final Map<TokenBucketLimit, byte[]> limits = new ConcurrentHashMap<>();

  byte[] encode(Check check, boolean peek) {
    ByteBuffer buffer =
        ByteBuffer.allocate(HEAD_BYTES + check.buckets().size() * (1 + LIMIT_BYTES))
            .order(ByteOrder.LITTLE_ENDIAN)
            .put((byte) (peek ? 1 : 0))
            .put((byte) check.buckets().size())
            .putLong(check.cost());
    for (BucketRequest request : check.buckets()) {
      buffer
          .put((byte) (request.enforced() ? 1 : 0))
          .put(packed((TokenBucketLimit) request.limit()));
    }
    return buffer.array();
  }

  private byte[] packed(TokenBucketLimit limit) {
    byte[] known = limits.get(limit);
    if (known != null) {
      return known;
    }
    if (limits.size() >= MAX_LIMITS) {
      limits.clear();
    }
    byte[] packed = pack(limit.scale());
    limits.put(limit, packed);
    return packed;
  }

  private static byte[] pack(TokenBucketLimit.Scale scale) {
    return ByteBuffer.allocate(LIMIT_BYTES)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putLong(scale.tickMicros())
        .putLong(scale.unitsPerTick())
        .putLong(scale.unitsPerToken())
        .putLong(scale.capacityUnits())
        .array();
  }
}
