// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.codec.StringCodec;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.decision.redis.RedisCache;
import io.weir.decision.redis.RedisCacheConfig;
import io.weir.limits.BucketKey;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.servers.RedisServer;
import io.weir.servers.testing.TestCluster;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Measures the same calls with one server and with a cluster of three servers. Calls have one
 * bucket, or three buckets on different servers. All servers share the machine, so the relevant
 * figure is the CPU per call.
 */
final class ClusterBenchmark {
  private static final int PRIMARIES = 3;
  private static final int ROUNDS = 3;
  private static final int ENDPOINTS = 10;
  private static final TokenBucketLimit LIMIT =
      new TokenBucketLimit(1_000_000, 1_000_000, 1_000_000);

  private final PrintStream out;

  ClusterBenchmark(PrintStream out) {
    this.out = out;
  }

  void run(Path folder) throws IOException, InterruptedException {
    try (RedisServer redis = RedisServer.start(folder.resolve("redis"), 0, "--appendonly", "no");
        TestCluster cluster = TestCluster.start(PRIMARIES, false);
        RedisCache one = start(redis.uri());
        RedisCache three = start(cluster.uri())) {
      RedisClient client = RedisClient.create();
      try {
        List<RedisCommands<String, byte[]>> alone = List.of(connect(client, redis.port()));
        List<RedisCommands<String, byte[]>> together = new ArrayList<>();
        for (int i = 0; i < PRIMARIES; i++) {
          together.add(connect(client, Integer.parseInt(cluster.port(i))));
        }
        for (int round = 1; round <= ROUNDS; round++) {
          out.printf("round %d%n", round);
          contender("one server", one, false).measure(alone, out);
          contender("cluster of three", three, false).measure(together, out);
          contender("one server, 3 layers", one, true).measure(alone, out);
          contender("cluster of three, 3 layers", three, true).measure(together, out);
        }
      } finally {
        client.shutdown();
      }
    }
  }

  private static RedisCache start(String uri) {
    return RedisCache.start(
        RedisCacheConfig.of(uri).withDeadline(Duration.ofSeconds(5)), new SimpleMeterRegistry());
  }

  private static RedisCommands<String, byte[]> connect(RedisClient client, int port) {
    return client
        .connect(
            RedisCodec.of(StringCodec.UTF8, ByteArrayCodec.INSTANCE),
            RedisURI.create("127.0.0.1", port))
        .sync();
  }

  private static Contender contender(String name, RedisCache cache, boolean layers) {
    List<Check> checks = new ArrayList<>();
    for (int i = 0; i < Contender.KEYS; i++) {
      List<BucketRequest> buckets = new ArrayList<>();
      buckets.add(request(BucketKey.of("burst", "client-" + i).text()));
      if (layers) {
        buckets.add(request(shared("endpoint-" + i % ENDPOINTS)));
        buckets.add(request(shared("all")));
      }
      checks.add(new Check(buckets, 1));
    }
    return new Contender(
        name,
        "w1:{*",
        key -> cache.submit(checks.get(key)).thenApply(Decision.Allowed.class::isInstance));
  }

  private static String shared(String name) {
    BucketKey.Part part = BucketKey.Part.of(name);
    return BucketKey.cacheOnlyText(null, part.keyText(), null, null, null);
  }

  private static BucketRequest request(String bucket) {
    return new BucketRequest(bucket, LIMIT, true);
  }
}
