// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

final class LogBudgetTest {
  private final AtomicLong nowNanos = new AtomicLong();
  private final LoggerContext context = new LoggerContext();
  private final ListAppender<ILoggingEvent> lines = new ListAppender<>();

  private Logger logger(String name) {
    if (!lines.isStarted()) {
      LogBudget budget = new LogBudget(nowNanos::get);
      budget.setContext(context);
      budget.start();
      context.addTurboFilter(budget);
      lines.start();
      context.getLogger("ROOT").addAppender(lines);
    }
    return context.getLogger(name);
  }

  private long said(String message) {
    return lines.list.stream().filter(line -> line.getMessage().equals(message)).count();
  }

  @Test
  void endlessErrors_areBounded_andTheNumberLeftOutIsLogged() {
    Logger broken = logger("broken");
    for (int i = 0; i < 100_000; i++) {
      broken.error("no room");
    }

    assertEquals(LogBudget.BURST, said("no room"));
    assertTrue(lines.list.size() < LogBudget.BURST + 20, () -> lines.list.size() + " lines");
    assertTrue(
        lines.list.stream()
            .anyMatch(line -> line.getFormattedMessage().endsWith("logger=broken so_far=65536")));
  }

  @Test
  void budget_refillsWithTime_andIsEachLoggersOwn() {
    Logger broken = logger("broken");
    for (int i = 0; i < 1_000; i++) {
      broken.warn("no room");
    }
    nowNanos.addAndGet(3 * LogBudget.REFILL.toNanos());
    for (int i = 0; i < 1_000; i++) {
      broken.warn("no room");
    }
    logger("other").warn("heard");

    assertEquals(LogBudget.BURST + 3, said("no room"));
    assertEquals(1, said("heard"));
  }

  @Test
  void lifeCycle_isNeverLeftOut() {
    Logger talkative = logger("talkative");
    for (int i = 0; i < 1_000; i++) {
      talkative.info("begins");
    }

    assertEquals(1_000, said("begins"));
  }
}
