// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.metrics.CommandLatencyRecorder;
import io.weir.decision.correction.BucketCorrector;
import io.weir.decision.correction.CacheUnavailableException;
import io.weir.decision.correction.PartlyUnavailableException;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.Correction;
import io.weir.limits.correction.CorrectionOutcome;
import io.weir.limits.correction.CorrectionOutcome.Kind;
import io.weir.limits.correction.CorrectionRule;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Corrector of the buckets of a decision cache on a Redis server. One call of {@code
 * correct_buckets.lua} applies all given corrections. The corrector uses its own connection;
 * decisions therefore do not wait for corrections. The corrector re-establishes a lost connection
 * in the background. A call waits for each reply at most for the stall timeout. The server's clock
 * determines all times of the corrections. Thread-safe.
 */
public final class RedisBucketCorrector implements BucketCorrector {
  private static final int NUMBERS_BYTES = 7 * Long.BYTES;
  private static final int OUTCOME_BYTES = 1 + 1 + Long.BYTES;
  private static final byte ELSEWHERE = 5;
  private static final Kind[] KINDS = {
    Kind.APPLIED, Kind.CREATED, Kind.STALE, Kind.FULL, Kind.CORRUPT
  };

  private final RedisLink link;
  private final BlockingScript script;

  private RedisBucketCorrector(RedisLink link, RedisScript script, Duration timeout) {
    this.link = link;
    this.script = new BlockingScript(script, link, null, timeout);
  }

  /**
   * Starts a corrector. Waits until the first attempt to connect has ended, even if it has failed.
   *
   * @param config settings of the cache; the corrector uses its server and timeouts
   * @throws IllegalArgumentException if the URI is not valid
   */
  public static RedisBucketCorrector start(RedisCacheConfig config) {
    return start(config, LinkTarget.of(config));
  }

  static RedisBucketCorrector start(RedisCacheConfig config, LinkTarget target) {
    RedisScript script = RedisScript.correctBuckets(target.kind());
    RedisLink link =
        new RedisLink(
            config,
            target,
            script,
            () -> {},
            null,
            new ThreadFaults(() -> {}),
            CommandLatencyRecorder.disabled());
    link.start();
    return new RedisBucketCorrector(link, script, config.stallTimeout());
  }

  @Override
  public List<CorrectionOutcome> apply(List<BoundedCorrection> corrections)
      throws CacheUnavailableException {
    int count = BucketCorrector.requireBatch(corrections).size();
    byte[][] keys = new byte[count][];
    byte[][] arguments = new byte[count][];
    for (int i = 0; i < count; i++) {
      BoundedCorrection bounded = corrections.get(i);
      keys[i] = bounded.correction().bucket().getBytes(StandardCharsets.UTF_8);
      arguments[i] = pack(bounded);
    }
    byte[] reply = script.call(keys, arguments);
    if (reply == null || reply.length != count * OUTCOME_BYTES) {
      int bytes = reply == null ? 0 : reply.length;
      throw new CacheUnavailableException(
          "the reply must have " + count * OUTCOME_BYTES + " bytes, but has " + bytes);
    }
    List<@Nullable CorrectionOutcome> outcomes = unpack(reply, count);
    if (outcomes.contains(null)) {
      throw new PartlyUnavailableException("the slot of a bucket is being moved", outcomes);
    }
    return outcomes.stream().map(Objects::requireNonNull).toList();
  }

  static byte[] pack(BoundedCorrection bounded) {
    Correction correction = bounded.correction();
    return ByteBuffer.allocate(CheckEncoder.LIMIT_BYTES + NUMBERS_BYTES)
        .order(ByteOrder.LITTLE_ENDIAN)
        .put(CheckEncoder.pack(correction.limit()))
        .putLong(CorrectionRule.bounded(bounded.debtCapTokens()))
        .putLong(CorrectionRule.epoch(correction))
        .putLong(CorrectionRule.bounded(correction.version()))
        .putLong(CorrectionRule.bounded(correction.chargedTokens()))
        .putLong(CorrectionRule.truth(correction))
        .putLong(bounded.takesOnly() ? 1 : 0)
        .putLong(CorrectionRule.knownThrough(correction))
        .array();
  }

  /**
   * Returns the outcomes in a reply. An outcome is null if the server of a cluster does not hold
   * the bucket.
   */
  static List<@Nullable CorrectionOutcome> unpack(byte[] bytes, int count) {
    ByteBuffer reply = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    List<@Nullable CorrectionOutcome> outcomes = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      byte kind = reply.get();
      boolean clamped = reply.get() != 0;
      long change = reply.getLong();
      outcomes.add(kind == ELSEWHERE ? null : new CorrectionOutcome(KINDS[kind], change, clamped));
    }
    return outcomes;
  }

  /** Closes the connection. Later calls fail. */
  @Override
  public void close() {
    link.close();
  }
}
