// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** Regression: each link logged a line with all its settings every few seconds of an outage. */
final class OutageLogTest {
  /** A server that no other test uses, because tests may run concurrently. */
  private static final String SERVER = "redis://outage-log-test";

  private final ListAppender<ILoggingEvent> lines = new ListAppender<>();
  private final OutageLog decisions = new OutageLog(SERVER);
  private final OutageLog corrections = new OutageLog(SERVER);

  @BeforeEach
  void listen() {
    lines.start();
    logger().addAppender(lines);
  }

  @AfterEach
  void leave() {
    decisions.close();
    corrections.close();
    logger().detachAppender(lines);
  }

  private static Logger logger() {
    return (Logger) LoggerFactory.getLogger(OutageLog.class);
  }

  private List<String> said() {
    return lines.list.stream()
        .filter(line -> line.getLevel().isGreaterOrEqual(Level.WARN))
        .map(ILoggingEvent::getFormattedMessage)
        .filter(line -> line.contains(SERVER))
        .toList();
  }

  @Test
  void outageOfTwoLinks_withManyReasons_isLoggedOnce_andItsEndOnce() {
    for (String why : List.of("closed", "connect timeout", "TimeoutException", "closed")) {
      decisions.away(why);
      corrections.away(why);
    }
    decisions.back();
    corrections.back();
    corrections.away("closed");
    corrections.back();

    String away = "redis_unavailable server=" + SERVER + " reason=\"closed\"";
    String back = "redis_available_again server=" + SERVER;
    assertEquals(List.of(away, back, away, back), said());
  }

  @Test
  void refusedServer_isLoggedOnce_alsoDuringAnOutage() {
    decisions.away("closed");
    decisions.refused("it may evict");
    corrections.refused("it may evict");
    decisions.refused("it may evict");

    assertEquals(2, said().size(), () -> said().toString());
    assertEquals("redis_unavailable server=" + SERVER + " reason=\"it may evict\"", said().get(1));
  }

  @Test
  void closedLink_logsNoEndOfTheOutage_andNothingMore() {
    decisions.away("closed");
    decisions.close();
    decisions.away("closed");
    corrections.away("refused");

    assertEquals(2, said().size(), () -> said().toString());
  }
}
