// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.turbo.TurboFilter;
import ch.qos.logback.core.spi.FilterReply;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Marker;

/**
 * A log filter that limits the warnings and errors of each logger. A logger can write a burst of
 * {@value #BURST} lines, and gains one more line every 5 s. A part that fails repeatedly, for
 * example because the disk is full, must not fill the disk with its log. The filter logs the number
 * of suppressed lines when it suppresses the first, second, fourth, eighth line, and so on.
 * Thread-safe.
 */
public final class LogBudget extends TurboFilter {
  static final int BURST = 200;
  static final Duration REFILL = Duration.ofSeconds(5);

  private final Map<String, Budget> budgets = new ConcurrentHashMap<>();
  private final LongSupplier nanoClock;

  /** The token bucket that limits the lines of one logger. */
  private static final class Budget {
    private long lines = BURST;
    private long refilledNanos;
    private long leftOut;

    Budget(long nowNanos) {
      this.refilledNanos = nowNanos;
    }

    /**
     * Returns 0 if a line may be written, otherwise the number of suppressed lines including this
     * line.
     */
    synchronized long take(long nowNanos) {
      long refilled = (nowNanos - refilledNanos) / REFILL.toNanos();
      refilledNanos += refilled * REFILL.toNanos();
      lines = Math.min(BURST, lines + refilled);
      if (lines > 0) {
        lines--;
        return 0;
      }
      return ++leftOut;
    }
  }

  /** Creates a filter. Logback's configuration calls this constructor. */
  public LogBudget() {
    this(System::nanoTime);
  }

  LogBudget(LongSupplier nanoClock) {
    this.nanoClock = nanoClock;
  }

  @Override
  public FilterReply decide(
      @Nullable Marker marker,
      Logger logger,
      Level level,
      @Nullable String format,
      Object @Nullable [] parameters,
      @Nullable Throwable thrown) {
    // a call without a format only checks whether the level is enabled
    if (format == null
        || !level.isGreaterOrEqual(Level.WARN)
        || !level.isGreaterOrEqual(logger.getEffectiveLevel())
        || logger.getName().equals(LogBudget.class.getName())) {
      return FilterReply.NEUTRAL;
    }
    long now = nanoClock.getAsLong();
    long leftOut = budgets.computeIfAbsent(logger.getName(), name -> new Budget(now)).take(now);
    if (leftOut == 0) {
      return FilterReply.NEUTRAL;
    }
    if (Long.bitCount(leftOut) == 1) {
      ((LoggerContext) getContext())
          .getLogger(LogBudget.class)
          .warn("lines left out of the log logger={} so_far={}", logger.getName(), leftOut);
    }
    return FilterReply.DENY;
  }
}
