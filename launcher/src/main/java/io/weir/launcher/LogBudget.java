// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher;

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
 * Bounds what a logger says in warnings and errors: {@value #BURST} lines, refilled by one each 5
 * s. A part that fails over and over, as over a full disk, must not fill that disk with its log.
 * How many lines were left out is said at the first, the second, the fourth and so on. Safe for
 * threads.
 */
public final class LogBudget extends TurboFilter {
  static final int BURST = 200;
  static final Duration REFILL = Duration.ofSeconds(5);

  private final Map<String, Budget> budgets = new ConcurrentHashMap<>();
  private final LongSupplier nanoClock;

  /** What one logger has left; a token bucket. */
  private static final class Budget {
    private long lines = BURST;
    private long refilledNanos;
    private long leftOut;

    Budget(long nowNanos) {
      this.refilledNanos = nowNanos;
    }

    /** 0 when a line may be written; else how many were left out, this one included. */
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

  /** One for logback's configuration. */
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
    // without a text it is only asked whether the level is on
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
