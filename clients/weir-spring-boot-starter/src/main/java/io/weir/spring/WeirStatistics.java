// SPDX-License-Identifier: Apache-2.0
package io.weir.spring;

import io.weir.client.Decision;
import io.weir.client.WeirRequestException;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Counters of requests by outcome. Also logs each outcome that requires an action, at most once per
 * minute. Thread-safe.
 */
public final class WeirStatistics {
  private static final Logger LOG = LoggerFactory.getLogger(WeirStatistics.class);
  private static final long LOG_PAUSE_NANOS = TimeUnit.MINUTES.toNanos(1);

  private final Map<Outcome, Requests> byOutcome = new EnumMap<>(Outcome.class);

  private static final class Requests {
    final LongAdder count = new LongAdder();
    final AtomicLong loggedNanos = new AtomicLong(System.nanoTime() - LOG_PAUSE_NANOS);
  }

  /** The outcome of a request. */
  public enum Outcome {
    /** A node has allowed the call. */
    ALLOWED,
    /** A node has denied the call. */
    DENIED,
    /** The API key of the call is unknown or has expired. */
    KEY_REFUSED,
    /** The request has no API key, client or principal. The call was therefore not checked. */
    CALLER_UNKNOWN,
    /** No node decided the call, and the failure mode allowed it. */
    UNDECIDED_PASSED,
    /** No node decided the call, and {@code WeirClient} refused it. */
    UNDECIDED_REFUSED,
    /** A node refused to check the call because a token, a name or a key is not valid. */
    NOT_ASKED;

    /** Returns the value of the metric's tag for this outcome. */
    String tag() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }

  /** Creates counters with the value 0. */
  public WeirStatistics() {
    for (Outcome outcome : Outcome.values()) {
      byOutcome.put(outcome, new Requests());
    }
  }

  /** Returns the number of requests with an outcome. */
  public long count(Outcome outcome) {
    return requests(outcome).count.sum();
  }

  private Requests requests(Outcome outcome) {
    return Objects.requireNonNull(byOutcome.get(outcome));
  }

  void add(Decision decision) {
    if (decision instanceof Decision.Undecided undecided) {
      Outcome outcome =
          undecided.isAllowed() ? Outcome.UNDECIDED_PASSED : Outcome.UNDECIDED_REFUSED;
      if (add(outcome)) {
        LOG.warn(
            "weir_undecided passed={} cause={} detail=\"{}\"",
            undecided.isAllowed(),
            undecided.cause(),
            undecided.detail());
      }
    } else if (decision instanceof Decision.KeyRefused) {
      add(Outcome.KEY_REFUSED);
    } else {
      add(decision.isAllowed() ? Outcome.ALLOWED : Outcome.DENIED);
    }
  }

  void add(WeirRequestException refused) {
    if (!add(Outcome.NOT_ASKED)) {
      return;
    }
    boolean isToken = refused.status() == 401 || refused.status() == 403;
    LOG.error(
        "weir_not_asked status={} reason={} detail=\"{}\"",
        refused.status(),
        refused.reason(),
        isToken ? "set weir.token to a token with the scope check" : refused.detail());
  }

  /**
   * Counts a request of an unknown caller.
   *
   * @param detail a sentence about what is missing in the request, and about the property that
   *     requires it
   */
  void addUnknownCaller(String detail) {
    if (add(Outcome.CALLER_UNKNOWN)) {
      LOG.warn("weir_caller_unknown detail=\"{}\"", detail);
    }
  }

  /** Counts a request. Returns whether to log the outcome now. */
  private boolean add(Outcome outcome) {
    Requests requests = requests(outcome);
    requests.count.increment();
    long before = requests.loggedNanos.get();
    long now = System.nanoTime();
    return now - before >= LOG_PAUSE_NANOS && requests.loggedNanos.compareAndSet(before, now);
  }
}
