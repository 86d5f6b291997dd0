// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.weir.e2e.healing.Rule.Place;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Looks at the servers of a Redis Cluster, as an ordinary client finds them. */
final class ClusterEye implements Eye, AutoCloseable {
  private static final byte[] READ =
      "local t = redis.call('TIME') return {t[1], t[2], redis.call('GET', KEYS[1])}"
          .getBytes(StandardCharsets.UTF_8);

  private final RedisClusterClient client;
  private final StatefulRedisClusterConnection<byte[], byte[]> connection;

  /** An eye that finds the others by one server that runs. */
  ClusterEye(String uri) {
    client = RedisClusterClient.create(uri);
    connection = client.connect(ByteArrayCodec.INSTANCE);
  }

  @Override
  public List<KeptBucket> look(List<Place> places) {
    List<KeptBucket> kept = new ArrayList<>(places.size());
    for (Place place : places) {
      byte[] key = place.key().getBytes(StandardCharsets.US_ASCII);
      List<Object> reply = connection.sync().eval(READ, ScriptOutputType.MULTI, new byte[][] {key});
      long now = number((byte[]) reply.get(0)) * 1_000_000 + number((byte[]) reply.get(1));
      kept.add(KeptBucket.of(place, now, (byte[]) reply.get(2)));
    }
    return kept;
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
