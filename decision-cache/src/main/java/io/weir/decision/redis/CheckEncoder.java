// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.weir.limits.BucketArithmetic;
import io.weir.limits.BucketLimit;
import io.weir.limits.SlotClaim;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.CheckDecider;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;

/** Encoder of checks for {@code take_tokens.lua}. Thread-safe. */
final class CheckEncoder {
  /** The operation on the buckets of a check. */
  enum Purpose {
    /** Takes the cost from all buckets, or from no bucket. */
    TAKE(0),
    /** Returns the result of {@link #TAKE} without taking the cost. */
    PEEK(1),
    /** Gives back the cost of a call that another server has denied. */
    GIVE_BACK(2),
    /**
     * Gives back the cost like {@link #GIVE_BACK}, and publishes the keys of the buckets for nodes
     * that cache denials.
     */
    GIVE_BACK_AND_PUBLISH(3);

    private final byte number;

    /**
     * Creates a purpose.
     *
     * @param number number of the purpose in the script
     */
    Purpose(int number) {
      this.number = (byte) number;
    }
  }

  private static final int HEAD_BYTES = 1 + 1 + 8;
  static final int LIMIT_BYTES = 4 * 8;

  private static final byte MODE_SHADOW = 0;
  private static final byte MODE_ENFORCED = 1;
  private static final byte MODE_HELD = 2;

  /** Number of modes. The encoded mode byte is mode + {@value} × {@link BucketLimit#scriptKind}. */
  private static final int MODES = 4;

  /**
   * Size of a claim in bytes. In an encoded check, a claim follows each limit of a bucket with
   * slots.
   */
  private static final int CLAIM_BYTES = Long.BYTES + SlotClaim.HOLDER_CHARS;

  /** Maximum number of cached encodings of limits: more than the limits of any set of policies. */
  private static final int MAX_LIMITS = 4_096;

  private final Map<BucketLimit, byte[]> limits = new ConcurrentHashMap<>();

  byte[] encode(Check check, Purpose purpose) {
    List<BucketRequest> buckets = check.buckets();
    byte[][] limitsOfBuckets = new byte[buckets.size()][];
    int bytes = HEAD_BYTES;
    for (int i = 0; i < limitsOfBuckets.length; i++) {
      limitsOfBuckets[i] = packed(buckets.get(i).limit());
      bytes += 1 + limitsOfBuckets[i].length + (buckets.get(i).hasSlots() ? CLAIM_BYTES : 0);
    }
    ByteBuffer buffer =
        ByteBuffer.allocate(bytes)
            .order(ByteOrder.LITTLE_ENDIAN)
            .put(purpose.number)
            .put((byte) buckets.size())
            .putLong(check.cost());
    for (int i = 0; i < limitsOfBuckets.length; i++) {
      buffer.put(mode(buckets.get(i))).put(limitsOfBuckets[i]);
      if (buckets.get(i).hasSlots()) {
        put(Objects.requireNonNull(check.claim()), buffer);
      }
    }
    return buffer.array();
  }

  private static void put(SlotClaim claim, ByteBuffer buffer) {
    buffer
        .putLong(claim.untilEpochMicros())
        .put(claim.holder().getBytes(StandardCharsets.US_ASCII));
  }

  private static byte mode(BucketRequest request) {
    int mode =
        CheckDecider.isHeldBack(request)
            ? MODE_HELD
            : request.enforced() ? MODE_ENFORCED : MODE_SHADOW;
    return (byte) (mode + MODES * request.limit().scriptKind());
  }

  private byte[] packed(BucketLimit limit) {
    byte[] known = limits.get(limit);
    if (known != null) {
      return known;
    }
    if (limits.size() >= MAX_LIMITS) {
      limits.clear();
    }
    long[] more = limit.scriptNumbers();
    ByteBuffer packed =
        ByteBuffer.allocate(LIMIT_BYTES + more.length * Long.BYTES)
            .order(ByteOrder.LITTLE_ENDIAN)
            .put(pack(limit));
    for (long each : more) {
      packed.putLong(each);
    }
    limits.put(limit, packed.array());
    return packed.array();
  }

  /** Returns the integers of a limit in the encoding of the scripts; see {@code bucket.lua}. */
  static byte[] pack(BucketLimit limit) {
    BucketArithmetic.Parameters parameters = limit.arithmetic().parameters();
    return ByteBuffer.allocate(LIMIT_BYTES)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putLong(parameters.tickMicros())
        .putLong(parameters.unitsPerTick())
        .putLong(parameters.unitsPerToken())
        .putLong(parameters.capacityUnits())
        .array();
  }
}
