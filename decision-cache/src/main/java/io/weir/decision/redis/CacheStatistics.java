// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.decision.DecisionCache;
import io.weir.limits.check.Decision;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.function.LongSupplier;

/**
 * The metrics of a cache since its start. Thread-safe.
 *
 * <p>If no check is in progress, {@code asked} = {@code allowed} + {@code denied} + the sum of
 * {@code undecided}.
 */
final class CacheStatistics {
  /** Number of classes of batch sizes: 1, 2, 3–4, 5–8, … and 33–64. */
  private static final int SIZE_CLASSES = 7;

  /** Number of submitted checks and peeks. */
  final Counter asked;

  final Counter allowed;
  final Counter denied;

  /** Number of script calls that were sent, including second attempts. */
  final Counter scriptCalls;

  /** Number of checks that were sent, including second attempts. */
  final Counter checksSent;

  /**
   * Number of checks that were not sent because the server did not reply or the caller's timeout
   * had elapsed. Such checks charged nothing.
   */
  final Counter checksNotSent;

  /**
   * Number of replies that arrived after the caller's timeout. If a late reply allowed the call,
   * the server had charged the call.
   */
  final Counter repliesLate;

  /** Number of times that the script was loaded because a server did not have the script. */
  final Counter scriptLoads;

  final Counter connections;

  /**
   * Number of connections that were closed because the server did not reply within the stall
   * timeout.
   */
  final Counter stalls;

  /** Number of keys that servers evicted. Each eviction is a loss of state. */
  final Counter evictions;

  /** Number of unexpected exceptions in threads that must not end. The threads continued. */
  final Counter faults;

  private final ThreadFaults faultsOf;

  private final Map<Decision.Cause, Counter> undecided = new EnumMap<>(Decision.Cause.class);
  private final Counter[] batches = new Counter[SIZE_CLASSES];

  private final MeterRegistry registry;

  CacheStatistics(MeterRegistry registry) {
    this.registry = registry;
    asked = counter(registry, "weir.cache.asked", "checks and peeks submitted to the cache");
    allowed = counter(registry, "weir.cache.allowed", "checks and peeks allowed");
    denied = counter(registry, "weir.cache.denied", "checks and peeks denied");
    for (Decision.Cause cause : Decision.Cause.values()) {
      undecided.put(
          cause,
          Counter.builder("weir.cache.undecided")
              .description("checks and peeks that the cache did not decide")
              .tag("cause", cause.name().toLowerCase(Locale.ROOT))
              .register(registry));
    }
    scriptCalls = counter(registry, "weir.cache.script.calls", "calls of the script sent to Redis");
    checksSent =
        counter(
            registry,
            "weir.cache.checks.sent",
            "checks sent to Redis; the mean batch size is this number divided by the script calls");
    for (int i = 0; i < SIZE_CLASSES; i++) {
      batches[i] =
          Counter.builder("weir.cache.batches")
              .description(
                  "calls of the script by number of checks; max_checks is the inclusive upper bound"
                      + " of the class")
              .tag("max_checks", Long.toString(1L << i))
              .register(registry);
    }
    checksNotSent =
        counter(
            registry,
            "weir.cache.checks.not.sent",
            "checks that were not sent: the server did not reply, or the caller's timeout had"
                + " elapsed");
    repliesLate =
        counter(
            registry, "weir.cache.late.replies", "replies that arrived after the caller's timeout");
    scriptLoads =
        counter(
            registry,
            "weir.cache.script.loads",
            "loads of the script because Redis did not have it (NOSCRIPT)");
    connections = counter(registry, "weir.cache.connections", "connections made to Redis");
    stalls =
        counter(
            registry, "weir.cache.stalls", "connections to Redis closed because it did not reply");
    evictions =
        counter(
            registry,
            "weir.cache.evictions",
            "keys that Redis has evicted while this node was connected: a loss of state");
    faults =
        counter(
            registry,
            "weir.cache.faults",
            "exceptions that Weir did not expect, in threads that call Redis; the threads continued");
    faultsOf = new ThreadFaults(faults::increment);
  }

  /**
   * Adds the gauges of a cache.
   *
   * @param deniedBuckets function that returns the number of buckets with a cached denial
   */
  void bind(DecisionCache cache, LongSupplier deniedBuckets) {
    Gauge.builder("weir.cache.up", cache, bound -> bound.check().ok() ? 1 : 0)
        .description("1 if the cache replies, otherwise 0")
        .register(registry);
    Gauge.builder("weir.deny.cache.buckets", deniedBuckets, LongSupplier::getAsLong)
        .description("buckets whose calls are denied without a request to Redis")
        .strongReference(true)
        .register(registry);
  }

  private static Counter counter(MeterRegistry registry, String name, String description) {
    return Counter.builder(name).description(description).register(registry);
  }

  ThreadFaults faultsOf() {
    return faultsOf;
  }

  Counter undecided(Decision.Cause cause) {
    return Objects.requireNonNull(undecided.get(cause));
  }

  void count(Decision decision) {
    asked.increment();
    if (decision instanceof Decision.Allowed) {
      allowed.increment();
    } else if (decision instanceof Decision.Denied) {
      denied.increment();
    } else if (decision instanceof Decision.Undecided none) {
      undecided(none.cause()).increment();
    }
  }

  void countCall(int checks) {
    scriptCalls.increment();
    checksSent.increment(checks);
    batches[Integer.SIZE - Integer.numberOfLeadingZeros(checks - 1)].increment();
  }
}
