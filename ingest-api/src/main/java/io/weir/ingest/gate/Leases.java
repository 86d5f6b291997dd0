// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.policy.MatchedPolicies;
import io.weir.limits.policy.MatchedPolicy;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Decides calls without a cache query, from tokens that this node took from the cache in advance
 * (decision 0016). Requests leases for frequently used buckets if all policies of the buckets
 * permit leases. The size of a lease is the number of tokens that recent calls took in a period as
 * long as a lease, up to a maximum. These calls match the same policies with the same keys.
 * Thread-safe; no method blocks.
 *
 * <p>The cache charges the tokens of a lease before calls use the tokens. The record of a call that
 * uses a lease shows a charge at the time of the lease. For the aggregator, a call that used a
 * lease is a normal call that was recorded late. The low watermark does not pass the start of a
 * lease before the lease has ended and its calls are recorded. A correction returns unused tokens,
 * because they are a charge without a record.
 */
public final class Leases implements AutoCloseable {
  /** Default minimum number of calls within a lease's duration. */
  public static final int LEAST_CALLS = 4;

  /**
   * Maximum number of kinds of calls in memory. Above the maximum, the least used kinds are
   * removed.
   */
  private static final int MAX_KINDS = 10_000;

  private final Function<Check, CompletableFuture<Decision>> cache;
  private final Supplier<Ticket> tickets;
  private final int leastCalls;
  private final LongSupplier nanos;
  private final Timer timer;

  /**
   * The buckets of each kind of calls. The map's key is the bucket's key, or a list of the buckets'
   * keys.
   */
  private final Cache<Object, LeasedBuckets> kinds =
      Caffeine.newBuilder().maximumSize(MAX_KINDS).build();

  /** All leases that have not ended, including leases of removed kinds. */
  private final Set<LeasedBuckets.Lease> live = ConcurrentHashMap.newKeySet();

  private final Counter taken;
  private final Counter unused;
  private volatile boolean closed;

  /** Runs tasks later. */
  public interface Timer {
    /** Runs a non-blocking task once, after at least the given time. */
    void after(long nanos, Runnable task);
  }

  /**
   * Creates an object without leases.
   *
   * @param cache submits a check that requests a lease
   * @param tickets returns a new ticket of the log
   * @param leastCalls minimum number of calls within a lease's duration before a lease is
   *     requested. With at least {@value #LEAST_CALLS} calls, a lease saves more work than it
   *     costs, including the correction of unused tokens
   * @param nanos a monotonic clock
   * @param timer ends leases
   * @param registry receives the metrics
   */
  public Leases(
      Function<Check, CompletableFuture<Decision>> cache,
      Supplier<Ticket> tickets,
      int leastCalls,
      LongSupplier nanos,
      Timer timer,
      MeterRegistry registry) {
    this.cache = cache;
    this.tickets = tickets;
    this.leastCalls = leastCalls;
    this.nanos = nanos;
    this.timer = timer;
    taken =
        Counter.builder("weir.lease.tokens")
            .description("tokens taken from the cache in advance")
            .register(registry);
    unused =
        Counter.builder("weir.lease.tokens.unused")
            .description("tokens taken in advance that no call used; corrections return them")
            .register(registry);
  }

  /**
   * Takes the cost of a call from a lease on the call's buckets.
   *
   * @return the tokens; null if no lease has enough tokens left
   */
  LeasedBuckets.@Nullable Taken take(MatchedPolicies matched, long cost) {
    List<MatchedPolicy> evaluated = matched.evaluated();
    if (closed || !permitted(evaluated)) {
      return null;
    }
    LeasedBuckets buckets = kinds.getIfPresent(kind(evaluated));
    if (buckets == null || !buckets.areOf(evaluated)) {
      return null;
    }
    long nowNanos = nanos.getAsLong();
    LeasedBuckets.Taken part = buckets.take(cost, nowNanos);
    if (part == null) {
      return null;
    }
    try {
      if (part.isUsedUp()) {
        end(part.lease());
      }
      if (part.isLow()) {
        ask(buckets, nowNanos);
      }
    } catch (RuntimeException | Error failed) {
      part.ticket().abandon(); // the call fails, so its tokens are a charge without a record
      throw failed;
    }
    return part;
  }

  private static boolean permitted(List<MatchedPolicy> evaluated) {
    for (MatchedPolicy match : evaluated) {
      if (match.policy().lease() == null) {
        return false;
      }
    }
    return true;
  }

  private static Object kind(List<MatchedPolicy> evaluated) {
    if (evaluated.size() == 1) {
      return evaluated.get(0).bucket().bucket();
    }
    List<String> keys = new ArrayList<>(evaluated.size());
    for (MatchedPolicy match : evaluated) {
      keys.add(match.bucket().bucket());
    }
    return keys;
  }

  /** Records that the cache allowed a call. May request a lease for the call's buckets. */
  void noteAllowed(MatchedPolicies matched, long cost) {
    List<MatchedPolicy> evaluated = matched.evaluated();
    if (closed || !permitted(evaluated)) {
      return;
    }
    long nowNanos = nanos.getAsLong();
    Object kind = kind(evaluated);
    LeasedBuckets buckets = kinds.getIfPresent(kind);
    if (buckets == null || !buckets.areOf(evaluated)) {
      buckets = new LeasedBuckets(evaluated, leastCalls, nowNanos);
      kinds.put(kind, buckets);
    }
    buckets.noteUse(cost, nowNanos);
    ask(buckets, nowNanos);
  }

  private void ask(LeasedBuckets buckets, long nowNanos) {
    long tokens = buckets.beginAsking(nowNanos);
    if (tokens == 0) {
      return;
    }
    Ticket ticket = null;
    CompletableFuture<Decision> decision;
    try {
      ticket = tickets.get();
      decision = cache.apply(buckets.check(tokens));
    } catch (RuntimeException | Error failed) {
      if (ticket != null) {
        ticket.abandon();
      }
      buckets.refused(nowNanos);
      throw failed;
    }
    Ticket held = ticket;
    var unused =
        decision.whenComplete(
            (answer, failed) -> answered(buckets, tokens, held, nowNanos, answer));
  }

  private void answered(
      LeasedBuckets buckets,
      long tokens,
      Ticket ticket,
      long askedNanos,
      @Nullable Decision decision) {
    long nowNanos = nanos.getAsLong();
    if (!(decision instanceof Decision.Allowed allowed)) {
      ticket.abandon();
      buckets.refused(nowNanos);
      return;
    }
    taken.increment((double) tokens);
    LeasedBuckets.Lease lease = buckets.begin(allowed, tokens, ticket, askedNanos);
    live.add(lease);
    long leftNanos = lease.leftNanos(nowNanos);
    try {
      if (closed || leftNanos <= 0) {
        end(lease);
      } else {
        timer.after(leftNanos, () -> end(lease));
      }
    } catch (RuntimeException | Error failed) {
      end(lease); // no timer will end it
      throw failed;
    }
  }

  private void end(LeasedBuckets.Lease lease) {
    live.remove(lease);
    unused.increment((double) lease.end());
  }

  /** Ends all leases. A closed object requests no further lease. */
  @Override
  public void close() {
    closed = true;
    live.forEach(this::end);
  }
}
