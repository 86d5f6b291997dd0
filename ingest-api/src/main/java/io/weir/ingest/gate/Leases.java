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
 * The tokens that this node has taken from the cache in advance, and from which it decides calls
 * without asking (decision 0016). Buckets that calls take from often are leased from, if their
 * policies permit: as many tokens as calls have taken in the time of a lease before, from all
 * buckets of such calls together. Thread-safe; nothing here blocks.
 *
 * <p>A lease is a charge like any other, which the cache makes before any call has the tokens. Each
 * call that takes some of them is recorded as if the cache had charged it at that moment, in its
 * place among the tokens of the lease. So the records cannot tell it from a call whose record took
 * as long as the lease; and the lease, and each of its calls until that is recorded, holds the low
 * watermark back as such a call does. Tokens that no call has taken are a charge without a record,
 * which the audit gives back.
 */
public final class Leases implements AutoCloseable {
  /** A usual least number of calls. */
  public static final int LEAST_CALLS = 4;

  /** Most kinds of calls whose use is known; of more, those not made for longest are forgotten. */
  private static final int MAX_KINDS = 10_000;

  private final Function<Check, CompletableFuture<Decision>> cache;
  private final Supplier<Ticket> tickets;
  private final int leastCalls;
  private final LongSupplier nanos;
  private final Timer timer;

  /** By the keys of the buckets: of one alone its key, of several the list. */
  private final Cache<Object, LeasedBuckets> kinds =
      Caffeine.newBuilder().maximumSize(MAX_KINDS).build();

  /** The leases that have not ended, of kinds that are forgotten, too. */
  private final Set<LeasedBuckets.Lease> live = ConcurrentHashMap.newKeySet();

  private final Counter taken;
  private final Counter unused;
  private volatile boolean closed;

  /** Runs tasks later. */
  public interface Timer {
    /** Runs a task that does not block, once, after at least the given time. */
    void after(long nanos, Runnable task);
  }

  /**
   * Creates an object without leases.
   *
   * @param cache submits a check that takes a lease
   * @param tickets returns a new ticket of the log
   * @param leastCalls buckets are leased from only if so many calls were made within the time of a
   *     lease before; {@value #LEAST_CALLS} where the lease, and the correction by which what is
   *     left of it is given back, are to cost less than they save
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
            .description("tokens taken in advance that no call has taken; corrections return them")
            .register(registry);
  }

  /**
   * Takes the cost of a call from a lease of its buckets.
   *
   * @return null if there is none with as many tokens left
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
      part.ticket().abandon(); // the call fails; its tokens are a charge without a record
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

  /** Notes that the cache has allowed a call; may ask for a lease of its buckets. */
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
      end(lease); // nothing else would
      throw failed;
    }
  }

  private void end(LeasedBuckets.Lease lease) {
    live.remove(lease);
    unused.increment((double) lease.end());
  }

  /** Ends all leases. No call is decided by a lease any more. */
  @Override
  public void close() {
    closed = true;
    live.forEach(this::end);
  }
}
