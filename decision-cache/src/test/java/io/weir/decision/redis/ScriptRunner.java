// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.ScoredValue;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.weir.limits.BucketState;
import io.weir.limits.LogState;
import io.weir.limits.SlotState;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.CorrectionOutcome;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * Runs the script in Redis with a clock that the test sets. A line that reads two keys replaces the
 * line that reads the server's clock.
 *
 * <p>Keys expire by the server's own clock, which runs while the test's clock is stopped. The
 * modified script therefore keeps each key for an hour longer. {@link #ttlMillis} and {@link #kept}
 * subtract this hour.
 */
final class ScriptRunner implements AutoCloseable {
  private static final String CLOCK_LINE = "local time = redis.call('TIME')";
  private static final String TEST_CLOCK_LINE =
      "local time = { redis.call('GET', 'clock-seconds'), redis.call('GET', 'clock-micros') }";
  private static final String TTL = "+ TTL_MARGIN_MILLIS)";
  private static final long LONGER_MILLIS = 3_600_000;
  private static final String LONGER_TTL = "+ TTL_MARGIN_MILLIS + " + LONGER_MILLIS + ")";
  private static final byte[] LIFE = bytes("life");
  private static final byte FORM = 3;
  private static final int STATE_BYTES = 57;
  private static final byte SHORT_FORM = 4;
  private static final int SHORT_STATE_BYTES = 28;

  private final RedisClient client;
  private final StatefulRedisConnection<byte[], byte[]> connection;
  private final RedisCommands<byte[], byte[]> redis;
  private final CheckEncoder encoder = new CheckEncoder();
  private final RedisScript script;
  private final RedisScript correctScript;

  /** Number of states found in each form. */
  private long shortStates;

  private long longStates;

  ScriptRunner(String uri) {
    this(uri, RedisScript.takeTokens(), RedisScript.correctBuckets(ServerKind.SINGLE));
  }

  private ScriptRunner(String uri, RedisScript takeTokens, RedisScript correctBuckets) {
    this.client = RedisClient.create(uri);
    this.connection = client.connect(ByteArrayCodec.INSTANCE);
    this.redis = connection.sync();
    this.script = underTestClock(takeTokens);
    this.correctScript = underTestClock(correctBuckets);
    redis.scriptLoad(script.body());
    redis.scriptLoad(correctScript.body());
  }

  /** Returns how many states were found in the short form. */
  long shortStates() {
    return shortStates;
  }

  /** Returns how many states were found in the long form. */
  long longStates() {
    return longStates;
  }

  /** A script that reads the test's clock and keeps its keys for longer. */
  static RedisScript underTestClock(RedisScript delivered) {
    String body = delivered.body();
    if (!body.contains(CLOCK_LINE)) {
      throw new IllegalStateException("the script does not read its clock as expected");
    }
    if (!body.contains(TTL)) {
      throw new IllegalStateException("the script does not keep its keys as expected");
    }
    return RedisScript.ofBody(
        body.replace(CLOCK_LINE, TEST_CLOCK_LINE).replace(TTL, LONGER_TTL), ServerKind.SINGLE);
  }

  RedisCommands<byte[], byte[]> redis() {
    return redis;
  }

  void setClock(long epochMicros) {
    redis.mset(
        Map.of(
            bytes("clock-seconds"),
            bytes(Long.toString(epochMicros / 1_000_000)),
            bytes("clock-micros"),
            bytes(Long.toString(epochMicros % 1_000_000))));
  }

  /** Sets the marker to the run ID of this runner, or deletes it. */
  void setWarm(boolean warm) {
    if (warm) {
      redis.set(LifeKeys.marker(), LIFE);
    } else {
      redis.del(LifeKeys.marker());
    }
  }

  Decision take(Check check) {
    return decide(List.of(check), List.of(false)).get(0);
  }

  Decision peek(Check check) {
    return decide(List.of(check), List.of(true)).get(0);
  }

  /** Gives back what a check has taken. */
  void giveBack(Check check) {
    run(List.of(check), List.of(CheckEncoder.Purpose.GIVE_BACK));
  }

  /** Decides several checks in one call. */
  List<Decision> decide(List<Check> checks, List<Boolean> peeks) {
    return run(
        checks,
        peeks.stream()
            .map(peek -> peek ? CheckEncoder.Purpose.PEEK : CheckEncoder.Purpose.TAKE)
            .toList());
  }

  /** Peeks several checks in one call. */
  List<Decision> run(List<Check> checks, List<CheckEncoder.Purpose> purposes) {
    List<byte[]> keys = new ArrayList<>(List.of(LifeKeys.marker()));
    List<byte[]> arguments = new ArrayList<>(List.of(LIFE));
    for (int i = 0; i < checks.size(); i++) {
      for (BucketRequest request : checks.get(i).buckets()) {
        keys.add(bytes(request.bucket()));
        request.limit().otherBuckets(request.bucket()).forEach(other -> keys.add(bytes(other)));
      }
      arguments.add(encoder.encode(checks.get(i), purposes.get(i)));
    }
    byte[] bytes =
        redis.evalsha(
            script.sha1(),
            ScriptOutputType.VALUE,
            keys.toArray(byte[][]::new),
            arguments.toArray(byte[][]::new));
    ScriptReply reply = new ScriptReply(bytes);
    List<Decision> decisions = new ArrayList<>();
    int offset = ScriptReply.HEAD_BYTES;
    for (Check check : checks) {
      decisions.add(reply.decode(offset, check.buckets().size()));
      offset += ScriptReply.bytesOf(check.buckets().size());
    }
    if (offset != bytes.length) {
      throw new IllegalStateException("the reply has " + bytes.length + " bytes, not " + offset);
    }
    return decisions;
  }

  /** Applies several corrections in one call. */
  List<CorrectionOutcome> correct(List<BoundedCorrection> corrections) {
    byte[][] keys = new byte[corrections.size()][];
    byte[][] arguments = new byte[corrections.size()][];
    for (int i = 0; i < keys.length; i++) {
      keys[i] = bytes(corrections.get(i).correction().bucket());
      arguments[i] = RedisBucketCorrector.pack(corrections.get(i));
    }
    byte[] reply = redis.evalsha(correctScript.sha1(), ScriptOutputType.VALUE, keys, arguments);
    return RedisBucketCorrector.unpack(reply, keys.length).stream()
        .map(Objects::requireNonNull)
        .toList();
  }

  /** Returns the log that is stored under a key; an empty log if there is no key. */
  LogState log(String bucket) {
    LogState log = LogState.EMPTY;
    long sum = 0;
    for (byte[] element : redis.lrange(bytes(bucket), 0, -1)) {
      ByteBuffer buffer = ByteBuffer.wrap(element).order(ByteOrder.LITTLE_ENDIAN);
      long at = buffer.getLong(0) & (1L << 56) - 1;
      long cost = buffer.getShort(7);
      long total = buffer.getLong(8) >>> 8;
      if (element.length != 16 || (log.size() > 0 && total != sum + cost)) {
        throw new IllegalStateException("not a call of a log, or a wrong sum: " + total);
      }
      sum = total;
      log = log.with(0, at, cost);
    }
    return log;
  }

  /** Returns the slots that are stored under a key; no slots if there is no key. */
  SlotState slots(String bucket) {
    SlotState slots = SlotState.EMPTY;
    long writtenMicros = 0;
    for (ScoredValue<byte[]> each : redis.zrangeWithScores(bytes(bucket), 0, -1)) {
      String holder = new String(each.getValue(), StandardCharsets.US_ASCII);
      if (holder.equals("@")) {
        writtenMicros = (long) each.getScore();
      } else {
        slots = slots.with(holder, (long) each.getScore());
      }
    }
    return slots.writtenAt(writtenMicros);
  }

  /** Returns the state that is stored under a key; null if there is no key. */
  @Nullable BucketState state(String bucket) {
    return state(redis.get(bytes(bucket)));
  }

  /**
   * Returns the values of keys, requested together. On a busy machine, a thread that waits for
   * every single reply would wait for the processor each time.
   */
  List<Kept> kept(List<String> buckets) throws ExecutionException, InterruptedException {
    List<RedisFuture<byte[]>> values = new ArrayList<>();
    List<RedisFuture<Long>> times = new ArrayList<>();
    for (String bucket : buckets) {
      values.add(connection.async().get(bytes(bucket)));
      times.add(connection.async().pttl(bytes(bucket)));
    }
    List<Kept> kept = new ArrayList<>();
    for (int i = 0; i < buckets.size(); i++) {
      kept.add(new Kept(state(values.get(i).get()), asDelivered(times.get(i).get())));
    }
    return kept;
  }

  /**
   * A state, null if there is no key, and the time until it expires as {@link #ttlMillis} returns
   * it.
   */
  record Kept(@Nullable BucketState state, long ttlMillis) {}

  private @Nullable BucketState state(byte @Nullable [] value) {
    if (value == null) {
      return null;
    }
    ByteBuffer buffer = ByteBuffer.wrap(value).order(ByteOrder.LITTLE_ENDIAN);
    if (value.length == SHORT_STATE_BYTES && value[0] == SHORT_FORM) {
      shortStates++;
      buffer.get();
      long units = signed(buffer, 6);
      long unitsPerToken = signed(buffer, 5);
      long since = signed(buffer, 6);
      long epoch = signed(buffer, 7);
      return new BucketState(units, unitsPerToken, epoch + since, epoch, 0, 0, signed(buffer, 3));
    }
    if (value.length != STATE_BYTES || buffer.get() != FORM) {
      throw new IllegalStateException("not a state: " + value.length + " bytes");
    }
    longStates++;
    long units = buffer.getLong();
    long unitsPerToken = buffer.getLong();
    return new BucketState(
        units,
        unitsPerToken,
        buffer.getLong(),
        buffer.getLong(),
        buffer.getLong(),
        buffer.getLong(),
        buffer.getLong());
  }

  /** Reads a little-endian number in two's complement. */
  private static long signed(ByteBuffer buffer, int bytes) {
    long value = 0;
    for (int i = 0; i < bytes; i++) {
      value |= Byte.toUnsignedLong(buffer.get()) << (8 * i);
    }
    int unused = Long.SIZE - 8 * bytes;
    return value << unused >> unused;
  }

  /** Stores a state under a key, as the script does. */
  void put(String bucket, BucketState state) {
    byte[] value =
        ByteBuffer.allocate(STATE_BYTES)
            .order(ByteOrder.LITTLE_ENDIAN)
            .put(FORM)
            .putLong(state.units())
            .putLong(state.unitsPerToken())
            .putLong(state.lastEpochMicros())
            .putLong(state.epoch())
            .putLong(state.correctedEpoch())
            .putLong(state.version())
            .putLong(state.chargedTokens())
            .array();
    redis.set(bytes(bucket), value, SetArgs.Builder.px(600_000 + LONGER_MILLIS));
  }

  /**
   * Returns the time until a key of this runner would expire with the unmodified script; −1 if it
   * never expires, −2 if there is no key.
   */
  long ttlMillis(String bucket) {
    return asDelivered(redis.pttl(bytes(bucket)));
  }

  private static long asDelivered(long leftMillis) {
    return leftMillis < 0 ? leftMillis : leftMillis - LONGER_MILLIS;
  }

  /** The complete content of a check's buckets in Redis, byte by byte. */
  List<String> dump(Check check) {
    List<String> dump = new ArrayList<>();
    for (BucketRequest request : check.buckets()) {
      byte @Nullable [] value = redis.dump(bytes(request.bucket()));
      dump.add(value == null ? "none" : java.util.HexFormat.of().formatHex(value));
    }
    return dump;
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  @Override
  public void close() {
    connection.close();
    client.shutdown();
  }
}
