// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import io.lettuce.core.RedisClient;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.weir.e2e.healing.Rule.Place;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Looks at Redis itself, past the nodes and past the route. Only {@code flush} changes it. */
final class RedisEye implements Eye, AutoCloseable {
  private static final byte[] READ =
      "local t = redis.call('TIME') return {t[1], t[2], redis.call('MGET', unpack(KEYS))}"
          .getBytes(StandardCharsets.UTF_8);
  private static final int MAX_KEYS = 2_000;

  private final RedisClient client;
  private final StatefulRedisConnection<byte[], byte[]> connection;

  RedisEye(String uri) {
    client = RedisClient.create(uri);
    connection = client.connect(ByteArrayCodec.INSTANCE);
  }

  /** Now, by Redis' clock. */
  long epochMicros() {
    List<byte[]> time = connection.sync().time();
    return number(time.get(0)) * 1_000_000 + number(time.get(1));
  }

  /** Buckets as they stand at one moment (of each {@value #MAX_KEYS}). */
  @Override
  public List<KeptBucket> look(List<Place> places) {
    List<KeptBucket> kept = new ArrayList<>(places.size());
    for (int from = 0; from < places.size(); from += MAX_KEYS) {
      lookAtSome(places.subList(from, Math.min(places.size(), from + MAX_KEYS)), kept);
    }
    return kept;
  }

  private void lookAtSome(List<Place> places, List<KeptBucket> kept) {
    byte[][] keys =
        places.stream()
            .map(place -> place.key().getBytes(StandardCharsets.US_ASCII))
            .toArray(byte[][]::new);
    List<Object> reply = connection.sync().eval(READ, ScriptOutputType.MULTI, keys);
    long now = number((byte[]) reply.get(0)) * 1_000_000 + number((byte[]) reply.get(1));
    List<?> states = (List<?>) reply.get(2);
    for (int i = 0; i < places.size(); i++) {
      kept.add(KeptBucket.of(places.get(i), now, state(states.get(i))));
    }
  }

  private static byte @Nullable [] state(@Nullable Object value) {
    return (byte[]) value;
  }

  /** Every bucket's key and the bytes under it. */
  Map<String, List<Byte>> dump() {
    Map<String, List<Byte>> dump = new TreeMap<>();
    for (byte[] key : connection.sync().keys("w1:*")) {
      byte[] value = connection.sync().get(key);
      List<Byte> bytes = new ArrayList<>();
      for (byte b : value == null ? new byte[0] : value) {
        bytes.add(b);
      }
      dump.put(new String(key, StandardCharsets.US_ASCII), bytes);
    }
    return dump;
  }

  /** FLUSHALL; gives Redis' time just before it. */
  long flush() {
    long before = epochMicros();
    connection.sync().flushall();
    return before;
  }

  private static long number(byte[] digits) {
    return Long.parseLong(new String(digits, StandardCharsets.US_ASCII));
  }

  @Override
  public void close() {
    connection.close();
    client.shutdown();
  }
}
