// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static io.weir.decision.redis.ScriptRunner.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.check.Decision.Cause;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.Correction;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests a Redis user that may not use all commands. */
class RestrictedUserIT {
  private static final TokenBucketLimit LIMIT = new TokenBucketLimit(10, 10, 1_000_000);
  private static final String ALL = "on >p ~* &* +@all";

  /** The commands without which a node works, though with less. */
  private static final Set<String> OPTIONAL = Set.of("MGET", "PUBLISH");

  private TestRedis redis;
  private ScriptRunner owner;
  private String userUri;

  @BeforeEach
  void start() {
    redis = TestRedis.start();
    owner = new ScriptRunner(redis.uri());
    userUri = redis.uri().replace("redis://", "redis://u:p@");
  }

  @AfterEach
  void stop() {
    owner.close();
    redis.close();
  }

  private void setUser(String rules) {
    CommandArgs<byte[], byte[]> arguments =
        new CommandArgs<>(ByteArrayCodec.INSTANCE).add("SETUSER").add("u");
    for (String rule : rules.strip().split("\\s+", -1)) {
      arguments.add(rule);
    }
    owner.redis().dispatch(CommandType.ACL, new StatusOutput<>(ByteArrayCodec.INSTANCE), arguments);
  }

  private RedisDecisionCache node() {
    return RedisDecisionCache.start(RedisCacheConfig.of(userUri));
  }

  private static Check check(String bucket) {
    return new Check(List.of(new BucketRequest(bucket, LIMIT, true)), 1);
  }

  /** Regression: a warm cache permanently counted as cold, without a message. */
  @Test
  void userWithoutMget_decidesAsAnyOther_andSeesThatTheCacheIsWarm() {
    setUser(ALL + " -mget");
    try (ScriptRunner runner = new ScriptRunner(userUri)) {
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
      assertEquals(Cause.COLD, cold.cause());
    }
  }

  @Test
  void commandForbiddenFromTheStart_serverIsRefused_andTheReasonNamesTheCommand() throws Exception {
    Set<String> needed = commandsOfAllScripts();
    assertTrue(needed.containsAll(OPTIONAL), needed::toString);
    needed.removeAll(OPTIONAL);
    for (String command : needed) {
      setUser("reset " + ALL + " -" + command.toLowerCase(Locale.ROOT));
      try (RedisDecisionCache cache = node()) {
        assertTrue(cache.refusal().endsWith(": " + command), () -> command + cache.refusal());
        Decision.Undecided none =
            assertInstanceOf(Decision.Undecided.class, cache.take(check("w1:a")));
        assertEquals(Cause.UNAVAILABLE, none.cause());
        assertTrue(none.detail().contains(command), none::detail);
        assertTrue(cache.check().detail().contains(command), cache.check()::detail);
      }
    }
  }

  private static Set<String> commandsOfAllScripts() throws IOException {
    Set<String> commands = new TreeSet<>();
    Path folder = Path.of("src/main/resources/io/weir/decision/redis");
    try (DirectoryStream<Path> scripts = Files.newDirectoryStream(folder, "*.lua")) {
      for (Path script : scripts) {
        Pattern.compile("call\\('([A-Z]+)'")
            .matcher(Files.readString(script))
            .results()
            .map(result -> result.group(1))
            .forEach(commands::add);
      }
    }
    return commands;
  }

  /** Regression: the stored values counted as corrupt. */
  @Test
  void commandForbiddenAtRunTime_cacheIsUnavailable_untilTheCommandIsAllowed() throws Exception {
    setUser(ALL);
    try (RedisDecisionCache cache = node()) {
      assertInstanceOf(Decision.Allowed.class, cache.take(check("w1:a")));

      setUser("-getrange");
      Decision.Undecided none =
          assertInstanceOf(Decision.Undecided.class, cache.take(check("w1:a")));
      assertEquals(Cause.UNAVAILABLE, none.cause(), none::detail);
      Await.until(cache::refusal, () -> cache.refusal().endsWith(": GETRANGE"));
      assertFalse(cache.check().ok());

      setUser("+getrange");
      Await.until(cache::refusal, () -> cache.take(check("w1:a")) instanceof Decision.Allowed);
      assertEquals("", cache.refusal());
    }
  }

  /** Regression: each check of a forbidden key disconnected all others. */
  @Test
  void keyForbidden_otherBucketsAreStillDecided() {
    setUser("on >p ~*[^z] &* +@all");
    try (RedisDecisionCache cache = node()) {
      for (int i = 0; i < 5; i++) {
        Decision.Undecided none =
            assertInstanceOf(Decision.Undecided.class, cache.take(check("w1:z")));
        assertEquals(Cause.UNAVAILABLE, none.cause(), none::detail);
        assertInstanceOf(Decision.Allowed.class, cache.take(check("w1:a")));
      }
    }
  }

  @Test
  void commandForbidden_scriptsFail_andNoValueCountsAsCorrupt() {
    setUser(ALL);
    try (ScriptRunner runner = new ScriptRunner(userUri)) {
      runner.setClock(1_800_000_000_000_000L);
      assertInstanceOf(Decision.Allowed.class, runner.take(check("w1:a")));
      setUser("-getrange");
      assertForbidden(
          assertThrows(RedisCommandExecutionException.class, () -> runner.take(check("w1:a"))));
      BoundedCorrection correction =
          new BoundedCorrection(
              new Correction(
                  "w1:a",
                  LIMIT,
                  1,
                  1,
                  1,
                  1_800_000_001_000_000L,
                  1,
                  0,
                  Correction.Cause.GAP,
                  0,
                  0,
                  0),
              0);
      assertForbidden(
          assertThrows(
              RedisCommandExecutionException.class, () -> runner.correct(List.of(correction))));
    }
  }

  private static void assertForbidden(RedisCommandExecutionException failed) {
    assertTrue(Failures.isForbiddenCommand(failed), failed::getMessage);
    assertEquals(Cause.UNAVAILABLE, Failures.undecided(failed).cause());
  }

  /** The rules that the documentation gives are sufficient. */
  @Test
  void userWithTheDocumentedPermissions_decides() throws Exception {
    String page = Files.readString(Path.of("../docs/operate/install.md"));
    Matcher documented = Pattern.compile("ACL SETUSER weir ([^`]+)```").matcher(page);
    assertTrue(documented.find());
    setUser(documented.group(1).replace("PASSWORD", "p"));
    try (RedisDecisionCache cache = node()) {
      assertEquals("", cache.refusal());
      assertInstanceOf(Decision.Allowed.class, cache.take(check("w1:a")));
    }
  }
}
