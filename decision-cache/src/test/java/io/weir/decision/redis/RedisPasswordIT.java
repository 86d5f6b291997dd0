// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import ch.qos.logback.core.AppenderBase;
import io.lettuce.core.RedisClient;
import io.weir.servers.testing.TestRedis;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/**
 * Tests a Redis server that requires a password. The password is sent, and no output contains it.
 */
class RedisPasswordIT {
  private static final String SECRET = "hunter2";
  private static final String PASSWORD = "p@/" + SECRET + "#1?";

  /**
   * Logger that writes each command with its arguments at the level TRACE. The logback.xml of cli
   * turns it off.
   */
  private static final String SILENCED = "io.lettuce.core.protocol.CommandEncoder";

  /** Collects the messages of all other loggers, including the loggers of the client library. */
  private static final class Kept extends AppenderBase<ILoggingEvent> implements AutoCloseable {
    private final Queue<String> lines = new ConcurrentLinkedQueue<>();
    private final Logger root = (Logger) LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME);
    private final Level before = root.getLevel();
    private final Logger silenced = (Logger) LoggerFactory.getLogger(SILENCED);

    static Kept ofEverything() {
      Kept kept = new Kept();
      kept.start();
      kept.silenced.setLevel(Level.ERROR);
      kept.root.setLevel(Level.TRACE);
      kept.root.addAppender(kept);
      return kept;
    }

    @Override
    protected void append(ILoggingEvent event) {
      String trace =
          event.getThrowableProxy() == null
              ? ""
              : ThrowableProxyUtil.asString(event.getThrowableProxy());
      lines.add(event.getLoggerName() + " " + event.getFormattedMessage() + " " + trace);
    }

    @Override
    public void close() {
      root.detachAppender(this);
      root.setLevel(before);
      silenced.setLevel(null);
    }
  }

  @Test
  void passwordWithReservedCharacters_connectsAndIsShownNowhere() throws Exception {
    try (TestRedis redis = TestRedis.start()) {
      requirePassword(redis);
      String server = redis.uri().substring("redis://".length());
      try (Kept kept = Kept.ofEverything()) {
        for (String written : List.of(PASSWORD, "p%40%2F" + SECRET + "%231%3F")) {
          String shown = shownByCacheOf("redis://:" + written + "@" + server, true);
          assertFalse(shown.contains(SECRET), shown);
        }
        String refused = shownByCacheOf("redis://:" + PASSWORD + "x@" + server, false);
        assertFalse(refused.contains(SECRET), refused);
        for (String line : kept.lines) {
          assertFalse(line.contains(SECRET), line);
        }
      }
    }
  }

  private static String shownByCacheOf(String uri, boolean connects) {
    RedisCacheConfig config =
        RedisCacheConfig.of(uri)
            .withConnectionTimeouts(Duration.ofMinutes(2), Duration.ofMinutes(1));
    try (RedisDecisionCache cache = RedisDecisionCache.start(config)) {
      assertTrue(connects == (cache.link().current() != null), cache.link().reason());
      return config + " " + cache.link().reason();
    }
  }

  private static void requirePassword(TestRedis redis) {
    RedisClient client = RedisClient.create(redis.uri());
    try (var connection = client.connect()) {
      connection.sync().configSet("requirepass", PASSWORD);
    } finally {
      client.shutdown();
    }
  }
}
