// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static io.weir.decision.redis.ScriptRunner.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.lettuce.core.RedisClient;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.servers.testing.TestRedis;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests a Redis user that may not use all commands. */
class RestrictedUserIT {
  private static final TokenBucketLimit LIMIT = new TokenBucketLimit(10, 10, 1_000_000);

  /** Regression: a warm cache permanently counted as cold, without a message. */
  @Test
  void userWithoutMget_decidesAsAnyOther_andSeesThatTheCacheIsWarm() throws Exception {
    try (TestRedis redis = TestRedis.start()) {
      RedisClient owner = RedisClient.create(redis.uri());
      try (var connection = owner.connect()) {
        connection
            .sync()
            .dispatch(
                CommandType.ACL,
                new StatusOutput<>(StringCodec.UTF8),
                new CommandArgs<>(StringCodec.UTF8)
                    .add("SETUSER")
                    .add("u")
                    .add("on")
                    .add(">p")
                    .add("~*")
                    .add("&*")
                    .add("+@all")
                    .add("-mget"));
      } finally {
        owner.shutdown();
      }
      try (ScriptRunner runner =
          new ScriptRunner(redis.uri().replace("redis://", "redis://u:p@"))) {
        runner.redis().set(bytes("clock-seconds"), bytes("1800000000"));
        runner.redis().set(bytes("clock-micros"), bytes("0"));
        runner.setWarm(true);
        List<BucketRequest> held = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
          held.add(new BucketRequest("b" + i, LIMIT, true, true));
        }
        for (int call = 1; call <= 10; call++) {
          assertInstanceOf(Decision.Allowed.class, runner.take(new Check(held, 1)));
        }
        assertInstanceOf(Decision.Denied.class, runner.take(new Check(held, 1)));
        runner.setWarm(false);
        Decision.Undecided cold =
            assertInstanceOf(Decision.Undecided.class, runner.take(new Check(held, 1)));
        assertEquals(Decision.Cause.COLD, cold.cause());
      }
    }
  }
}
