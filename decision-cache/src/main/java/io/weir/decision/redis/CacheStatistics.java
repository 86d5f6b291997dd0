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
 * Metrics of a cache since it was started. Thread-safe.
 *
 * <p>Asked = allowed + denied + Σ undecided, when no call is in flight.
 */
final class CacheStatistics {
  /** Classes of batch sizes: 1, 2, 3–4, 5–8, … up to 33–64. */
  private static final int SIZE_CLASSES = 7;

  /** Calls of take and peek. */
  final Counter asked;

  final Counter allowed;
  final Counter denied;

  /** Script calls sent, including second attempts. */
  final Counter scriptCalls;

  /** Checks sent, including second attempts. */
  final Counter checksSent;

  /**
   * Checks that left the queue unsent, because the server was silent or the caller's timeout had
   * passed; they charged nothing.
   */
  final Counter checksNotSent;

  /** Replies that arrived after the caller's timeout; an allowed call was still charged. */
  final Counter repliesLate;

  /** Number of times that the script was loaded because a server did not have it. */
  final Counter scriptLoads;

  final Counter connections;

  /** Connections closed because the server did not reply within the stall timeout. */
  final Counter stalls;

  /** Keys evicted by the servers; each is a loss of state. */
  final Counter evictions;

  /** Unexpected exceptions in threads that must not end; these threads continued. */
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
            "checks sent; divided by script calls, the mean batch");
    for (int i = 0; i < SIZE_CLASSES; i++) {
      batches[i] =
          Counter.builder("weir.cache.batches")
              .description(
                  "calls of the script by their number of checks, up to and with max_checks")
              .tag("max_checks", Long.toString(1L << i))
              .register(registry);
    }
    checksNotSent =
        counter(
            registry,
            "weir.cache.checks.not.sent",
            "checks that left the queue unsent: the server was silent, or the caller's timeout had passed");
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
            "exceptions that were unexpected, in the threads that call Redis; the threads continued");
    faultsOf = new ThreadFaults(faults::increment);
  }

  /**
   * Adds the gauges of a cache.
   *
   * @param deniedBuckets returns the number of buckets whose calls the cache denies without a
   *     request to Redis
   */
  void bind(DecisionCache cache, LongSupplier deniedBuckets) {
    Gauge.builder("weir.cache.up", cache, bound -> bound.check().ok() ? 1 : 0)
        .description("1 when the cache answers, else 0")
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
