// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.lettuce.core.RedisClient;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.weir.limits.BucketKey;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;

/**
 * Measures how long a bucket stays wrong after its state was deleted. The benchmark deletes one
 * bucket after another while clients continue to call. The delay begins with the first decision of
 * the new epoch, and ends when the bucket has the version of a correction. Redis' clock measures
 * the delay.
 */
final class HealingDelay {
  private static final int CLIENTS = 50;
  private static final double CALLS_PER_SECOND = 500;
  private static final long COST = 1;
  private static final Duration WARM_UP = Duration.ofSeconds(20);
  private static final int DISTURBANCES = 500;
  private static final long BETWEEN_DISTURBANCES_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
  private static final long BETWEEN_LOOKS_NANOS = TimeUnit.MILLISECONDS.toNanos(2);
  private static final Duration LAST_WAIT = Duration.ofSeconds(5);
  private static final byte CORRECTED_FORM = 3;
  private static final int EPOCH_OFFSET = 25;
  private static final int VERSION_OFFSET = 41;
  private static final byte[] LOOK =
      "local t = redis.call('TIME') return {t[1], t[2], redis.call('MGET', unpack(KEYS))}"
          .getBytes(StandardCharsets.UTF_8);
  private static final String POLICIES =
      """
      policies:
        - {name: burst, limit: {algorithm: token-bucket, capacity: 100, refill_tokens: 1, refill_period: PT1S}}
      """;

  private final PrintStream out;
  private final Histogram delaysMicros = new Histogram(60_000_000L, 3);
  private final Map<Integer, Long> open = new HashMap<>();
  private final byte[][] keys = new byte[CLIENTS][];
  private long unhealed;

  HealingDelay(PrintStream out) {
    this.out = out;
    for (int i = 0; i < CLIENTS; i++) {
      keys[i] = BucketKey.of("burst", "client-" + i).text().getBytes(StandardCharsets.US_ASCII);
    }
  }

  void run(Path folder) throws Exception {
    try (HealFleet fleet = HealFleet.start(folder.resolve("delay"), POLICIES)) {
      HttpChecks checks = new HttpChecks(fleet.nodeUrls());
      RedisClient client = RedisClient.create(fleet.redisUri());
      try (StatefulRedisConnection<byte[], byte[]> redis = client.connect(ByteArrayCodec.INSTANCE);
          PacedCalls calls =
              PacedCalls.start(
                  CALLS_PER_SECOND, n -> checks.isAllowed((int) (n % CLIENTS), COST))) {
        TimeUnit.NANOSECONDS.sleep(WARM_UP.toNanos());
        disturb(redis);
        out.printf(
            "%d buckets deleted one by one, %d clients, %.0f calls/s on two nodes: delay from"
                + " the first decision of the new epoch to its correction: p50 %.0f ms, p99 %.0f ms,"
                + " max %.0f ms; %d buckets not corrected, %d calls not answered%n",
            delaysMicros.getTotalCount() + unhealed,
            CLIENTS,
            CALLS_PER_SECOND,
            delaysMicros.getValueAtPercentile(50) / 1e3,
            delaysMicros.getValueAtPercentile(99) / 1e3,
            delaysMicros.getMaxValue() / 1e3,
            unhealed,
            calls.failed());
      } finally {
        client.shutdown();
      }
      for (String node : fleet.nodeUrls()) {
        DecidedByCache.require(node);
      }
    }
  }

  private void disturb(StatefulRedisConnection<byte[], byte[]> redis) {
    long due = System.nanoTime();
    for (int n = 0; n < DISTURBANCES; n++) {
      int number = n % CLIENTS;
      if (open.remove(number) != null) {
        unhealed++;
      }
      open.put(number, now(redis));
      redis.sync().del(keys[number]);
      due += BETWEEN_DISTURBANCES_NANOS;
      lookUntil(due, redis);
    }
    lookUntil(System.nanoTime() + LAST_WAIT.toNanos(), redis);
    unhealed += open.size();
  }

  private static long now(StatefulRedisConnection<byte[], byte[]> redis) {
    List<byte[]> time = redis.sync().time();
    return number(time.get(0)) * 1_000_000 + number(time.get(1));
  }

  private void lookUntil(long nanos, StatefulRedisConnection<byte[], byte[]> redis) {
    while (System.nanoTime() < nanos) {
      look(redis);
      LockSupport.parkNanos(BETWEEN_LOOKS_NANOS);
    }
  }

  private void look(StatefulRedisConnection<byte[], byte[]> redis) {
    List<Object> reply = redis.sync().eval(LOOK, ScriptOutputType.MULTI, keys);
    long nowMicros = number((byte[]) reply.get(0)) * 1_000_000 + number((byte[]) reply.get(1));
    List<?> states = (List<?>) reply.get(2);
    open.entrySet()
        .removeIf(
            disturbed ->
                states.get(disturbed.getKey()) instanceof byte[] state
                    && isHealed(state, disturbed.getValue(), nowMicros));
  }

  private boolean isHealed(byte[] state, long deletedAtMicros, long nowMicros) {
    if (state[0] != CORRECTED_FORM) {
      return false; // no correction has been applied
    }
    ByteBuffer fields = ByteBuffer.wrap(state).order(ByteOrder.LITTLE_ENDIAN);
    long epochMicros = fields.getLong(EPOCH_OFFSET);
    if (epochMicros < deletedAtMicros || fields.getLong(VERSION_OFFSET) == 0) {
      return false;
    }
    delaysMicros.recordValue(nowMicros - epochMicros);
    return true;
  }

  private static long number(byte[] digits) {
    return Long.parseLong(new String(digits, StandardCharsets.US_ASCII));
  }
}
