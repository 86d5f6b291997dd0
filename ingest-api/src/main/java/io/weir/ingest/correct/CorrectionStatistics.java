// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.weir.decision.correction.CacheLife.Warmth;
import io.weir.limits.correction.Correction;
import io.weir.limits.correction.CorrectionOutcome;
import io.weir.limits.correction.CorrectionOutcome.Kind;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;

/**
 * Metrics of a node's corrections and restorations of the cache, since the start of the node.
 * Thread-safe.
 *
 * <p>Invariant: <b>read = outcomes of every kind + superseded + malformed + "restored" markers +
 * handed back + waiting</b>.
 */
public final class CorrectionStatistics {
  private static final double[] AGE_QUANTILES = {0.5, 0.99};

  /** Records read, without tombstones and records of unknown kinds. */
  final Counter read;

  /**
   * Corrections skipped because a newer correction of the same bucket was waiting, or arrived
   * before the cache had the older correction.
   */
  final Counter superseded;

  /** Malformed records, which were skipped. */
  final Counter malformed;

  /** "Restored" markers that the cache has stored. */
  final Counter restoredMessages;

  /**
   * Records dropped before the cache replied, because their partition moved to another node. The
   * partition's next owner reads these records again.
   */
  final Counter handedBack;

  /** Corrections whose debit the debt cap reduced. */
  final Counter clamped;

  /** Batches and markers sent to the cache again because the cache did not reply. */
  final Counter retries;

  final Counter tokensGiven;
  final Counter tokensTaken;

  /** Restorations that this node began: it published that the cache had lost its state. */
  final Counter restorationsBegun;

  /** Restorations that this node abandoned because it could not publish the loss. */
  final Counter restorationsAbandoned;

  /** Restorations that this node began and later found complete. */
  final Counter restorationsCompleted;

  /**
   * Time from the decision of the oldest call that led to a correction until the cache applied the
   * correction. Not measured for corrections that restore a bucket.
   */
  final Timer sinceDisturbed;

  /** Time from the computation of a correction until the cache applied it. */
  final Timer sinceComputed;

  private final Map<Kind, Counter> outcomes = new EnumMap<>(Kind.class);
  private volatile int waiting;
  private volatile long lagRecords;
  private volatile boolean wereReadToTheEnd;
  private volatile Warmth warmth = Warmth.UNKNOWN;
  private volatile int looksUnanswered;

  /** Creates metrics at zero. */
  public CorrectionStatistics(MeterRegistry registry) {
    for (Kind kind : Kind.values()) {
      outcomes.put(
          kind,
          Counter.builder("weir.corrections")
              .description("corrections to which the cache replied")
              .tag("outcome", kind.name().toLowerCase(Locale.ROOT))
              .register(registry));
    }
    read = counter(registry, "read", "records read from the corrections topic");
    superseded =
        counter(
            registry,
            "superseded",
            "corrections replaced by a newer correction of the same " + "bucket");
    malformed =
        counter(
            registry,
            "malformed",
            "records of the corrections topic that were malformed and skipped");
    restoredMessages = counter(registry, "restored", "records that mark a partition as restored");
    handedBack =
        counter(
            registry,
            "handed.back",
            "records dropped because their partition moved; the next owner of the partition "
                + "reads them again");
    clamped = counter(registry, "clamped", "corrections whose debit the debt cap reduced");
    retries =
        counter(
            registry, "retries", "batches sent to the cache again because the cache did not reply");
    tokensGiven = tokens(registry, "given");
    tokensTaken = tokens(registry, "taken");
    restorationsBegun = restorations(registry, "begun");
    restorationsAbandoned = restorations(registry, "abandoned");
    restorationsCompleted = restorations(registry, "completed");
    sinceDisturbed = age(registry, "disturbed");
    sinceComputed = age(registry, "computed");
    gauge(
        registry,
        "weir.corrections.waiting",
        "records that were read, but not answered by the cache yet",
        CorrectionStatistics::waiting);
    gauge(
        registry,
        "weir.corrections.lag.records",
        "records of this node's partitions that are not yet applied",
        CorrectionStatistics::lagRecords);
    gauge(
        registry,
        "weir.cache.warmth",
        "1 when the cache is restored, 0 when it is not, -1 when that is unknown",
        statistics -> number(statistics.warmth));
  }

  private static Counter counter(MeterRegistry registry, String what, String description) {
    return Counter.builder("weir.corrections." + what).description(description).register(registry);
  }

  private static Counter tokens(MeterRegistry registry, String direction) {
    return Counter.builder("weir.corrections.tokens")
        .description("tokens that corrections gave to buckets, or took from them")
        .tag("direction", direction)
        .register(registry);
  }

  private static Counter restorations(MeterRegistry registry, String event) {
    return Counter.builder("weir.cache.restorations")
        .description("restorations that this node began, abandoned or completed")
        .tag("event", event)
        .register(registry);
  }

  private static Timer age(MeterRegistry registry, String since) {
    return Timer.builder("weir.correction.age")
        .description("age of a correction when the cache applied it, in seconds")
        .tag("since", since)
        .publishPercentiles(AGE_QUANTILES)
        .register(registry);
  }

  private void gauge(
      MeterRegistry registry,
      String name,
      String description,
      ToDoubleFunction<CorrectionStatistics> value) {
    Gauge.builder(name, this, value).description(description).register(registry);
  }

  private static int number(Warmth warmth) {
    return switch (warmth) {
      case WARM -> 1;
      case COLD -> 0;
      case UNKNOWN -> -1;
    };
  }

  Counter outcomes(Kind kind) {
    return Objects.requireNonNull(outcomes.get(kind));
  }

  /** Returns the number of records that were read, but that the cache has not answered yet. */
  int waiting() {
    return waiting;
  }

  /**
   * Returns the number of records of this node's partitions that are not yet applied. The number is
   * some seconds old.
   */
  long lagRecords() {
    return lagRecords;
  }

  /** Returns the state of the cache at the last check. */
  Warmth warmth() {
    return warmth;
  }

  void answered(Correction correction, CorrectionOutcome outcome, long nowEpochMillis) {
    outcomes(outcome.kind()).increment();
    if (outcome.clamped()) {
      clamped.increment();
    }
    tokensGiven.increment((double) Math.max(0, outcome.changeTokens()));
    tokensTaken.increment((double) Math.max(0, -outcome.changeTokens()));
    boolean changed = outcome.kind() == Kind.APPLIED || outcome.kind() == Kind.CREATED;
    if (changed) {
      record(sinceComputed, nowEpochMillis - correction.asOfEpochMillis());
    }
    if (changed && correction.cause() != Correction.Cause.RESTORE) {
      record(sinceDisturbed, nowEpochMillis - correction.disturbedAtEpochMillis());
    }
  }

  private static void record(Timer timer, long ageMillis) {
    timer.record(Math.max(0, ageMillis), TimeUnit.MILLISECONDS);
  }

  void nowWaiting(int records) {
    waiting = records;
  }

  void lag(long records) {
    lagRecords = records;
  }

  /** Returns whether all corrections of this node's partitions have been read and applied once. */
  boolean wereReadToTheEnd() {
    return wereReadToTheEnd;
  }

  void readToTheEnd() {
    wereReadToTheEnd = true;
  }

  /**
   * Returns the number of consecutive checks of the cache's state to which the cache did not reply.
   */
  int looksUnanswered() {
    return looksUnanswered;
  }

  /** Records the cache's state after a check. Called by one thread only. */
  @SuppressWarnings("NonAtomicVolatileUpdate")
  void warmth(Warmth now) {
    looksUnanswered =
        now == Warmth.UNKNOWN ? Math.min(looksUnanswered + 1, Integer.MAX_VALUE - 1) : 0;
    warmth = now;
  }
}
