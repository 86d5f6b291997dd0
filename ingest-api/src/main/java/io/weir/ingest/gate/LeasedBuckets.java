// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.limits.BucketArithmetic;
import io.weir.limits.check.BucketReply;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.policy.LeaseTerms;
import io.weir.limits.policy.MatchedPolicy;
import io.weir.topics.model.Charge;
import io.weir.topics.model.Stamp;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The buckets of one kind of calls, with their recent use and their leases. Calls are of the same
 * kind if they match the same policies with the same keys. At most {@value #MAX_LEASES} leases have
 * tokens left; calls use the older lease first. Thread-safe.
 */
final class LeasedBuckets {
  /** Maximum number of leases: the lease in use, and the next lease. */
  static final int MAX_LEASES = 2;

  /**
   * The node requests a new lease when less than 1/{@value} of the last lease's tokens or time is
   * left.
   */
  private static final int LOW_DIVISOR = 4;

  /** Minimum number of tokens of a lease. */
  private static final long MIN_TOKENS = 2;

  private static final long NANOS_PER_MICRO = 1_000;

  /**
   * The use of the buckets within the duration of a lease.
   *
   * @param calls number of calls
   * @param tokens number of tokens that these calls took
   */
  private record Use(int calls, long tokens) {
    static final Use NONE = new Use(0, 0);
  }

  private final int leastCalls;
  private final List<BucketRequest> asked;
  private final List<BucketRequest> requests;
  private final long mostTokens;
  private final long lengthNanos;

  // guarded by this
  private final Deque<Lease> leases = new ArrayDeque<>();
  private long windowBeganNanos;
  private Use use = Use.NONE;
  private Use useBefore = Use.NONE;
  private long notBeforeNanos;
  private boolean isAsking;

  /**
   * Creates buckets without leases.
   *
   * @param evaluated the policies of a call; each permits leases
   * @param leastCalls minimum number of calls within a lease's duration before a lease is requested
   * @param nowNanos current time by a monotonic clock
   */
  LeasedBuckets(List<MatchedPolicy> evaluated, int leastCalls, long nowNanos) {
    this.leastCalls = leastCalls;
    this.asked = requests(evaluated);
    // enforce shadow buckets too, so that they grant a lease only if they have all the tokens
    this.requests =
        asked.stream()
            .map(one -> new BucketRequest(one.bucket(), one.limit(), true, one.held()))
            .toList();
    long tokens = Long.MAX_VALUE;
    long micros = LeaseTerms.MAX_MICROS;
    for (MatchedPolicy match : evaluated) {
      LeaseTerms terms = match.policy().lease();
      if (terms == null) {
        throw new IllegalArgumentException("policy " + match.policy().name() + " has no lease");
      }
      tokens = Math.min(tokens, terms.tokens());
      micros = Math.min(micros, terms.micros());
    }
    this.mostTokens = tokens;
    this.lengthNanos = micros * NANOS_PER_MICRO;
    this.windowBeganNanos = nowNanos;
    this.notBeforeNanos = nowNanos;
  }

  private static List<BucketRequest> requests(List<MatchedPolicy> evaluated) {
    return evaluated.stream().map(MatchedPolicy::bucket).toList();
  }

  /** Returns the check that requests a lease. */
  Check check(long tokens) {
    return new Check(requests, tokens);
  }

  /** Returns whether a call has exactly these buckets, with the same limits. */
  boolean areOf(List<MatchedPolicy> evaluated) {
    if (evaluated.size() != asked.size()) {
      return false;
    }
    for (int i = 0; i < asked.size(); i++) {
      if (!evaluated.get(i).bucket().equals(asked.get(i))) {
        return false;
      }
    }
    return true;
  }

  /** Records that a call took tokens. */
  synchronized void noteUse(long tokens, long nowNanos) {
    long elapsedNanos = nowNanos - windowBeganNanos;
    if (elapsedNanos >= lengthNanos) {
      useBefore = elapsedNanos < 2 * lengthNanos ? use : Use.NONE;
      use = Use.NONE;
      windowBeganNanos = nowNanos;
    }
    use = new Use(use.calls + 1, use.tokens + tokens);
  }

  /**
   * Returns the size of the lease that the caller must request now. If the size is not 0, the
   * caller must later call {@link #begin} or {@link #refused}.
   *
   * @return the tokens to request; 0 for no lease
   */
  synchronized long beginAsking(long nowNanos) {
    Use most = use.tokens > useBefore.tokens ? use : useBefore;
    long tokens = Math.min(mostTokens, most.tokens);
    if (isAsking
        // a lease is worthwhile if its tokens suffice for leastCalls of these calls
        || (double) tokens * most.calls < (double) leastCalls * most.tokens
        || leases.size() >= MAX_LEASES
        || nowNanos - notBeforeNanos < 0
        || tokens < MIN_TOKENS
        || (!leases.isEmpty() && !leases.getLast().isLow(nowNanos))) {
      return 0;
    }
    isAsking = true;
    return tokens;
  }

  /**
   * Records that the cache granted no lease. The node waits at least the duration of a lease before
   * it requests the next lease.
   */
  synchronized void refused(long nowNanos) {
    isAsking = false;
    notBeforeNanos = nowNanos + lengthNanos;
  }

  /**
   * Adds a lease.
   *
   * @param allowed the cache's reply
   * @param tokens number of requested tokens
   * @param ticket a ticket obtained before the request. The tickets of the lease's calls have the
   *     time of this ticket. The lease abandons this ticket when the lease ends
   * @param askedNanos time of the request by the monotonic clock
   */
  synchronized Lease begin(Decision.Allowed allowed, long tokens, Ticket ticket, long askedNanos) {
    isAsking = false;
    Lease lease = new Lease(allowed, tokens, ticket, askedNanos);
    leases.add(lease);
    return lease;
  }

  /** Takes tokens for a call from a lease. Returns null if no lease has enough tokens left. */
  synchronized @Nullable Taken take(long cost, long nowNanos) {
    for (Lease lease : leases) {
      if (lease.tokens - lease.used >= cost && lease.leftNanos(nowNanos) > 0) {
        noteUse(cost, nowNanos);
        Ticket ticket = lease.ticket.again();
        lease.used += cost;
        boolean isLow = lease == leases.getLast() && lease.isLow(nowNanos);
        return new Taken(lease, ticket, cost, lease.tokens - lease.used, isLow);
      }
    }
    return null;
  }

  /**
   * A lease: tokens that the cache charged to each bucket in advance. Guarded by the lock of the
   * enclosing object.
   */
  final class Lease {
    private final Decision.Allowed allowed;
    private final long tokens;
    private final Ticket ticket;
    private final long askedNanos;
    private long used;
    private boolean hasEnded;

    private Lease(Decision.Allowed allowed, long tokens, Ticket ticket, long askedNanos) {
      this.allowed = allowed;
      this.tokens = tokens;
      this.ticket = ticket;
      this.askedNanos = askedNanos;
    }

    /** Returns the remaining time in which calls may take tokens. */
    long leftNanos(long nowNanos) {
      return askedNanos + lengthNanos - nowNanos;
    }

    private boolean isLow(long nowNanos) {
      return (tokens - used) * LOW_DIVISOR < tokens
          || leftNanos(nowNanos) * LOW_DIVISOR < lengthNanos;
    }

    /**
     * Ends the lease. Returns the number of tokens that no call took, or 0 if the lease has already
     * ended.
     */
    long end() {
      synchronized (LeasedBuckets.this) {
        if (hasEnded) {
          return 0;
        }
        hasEnded = true;
        leases.remove(this);
        ticket.abandon();
        return tokens - used;
      }
    }
  }

  /** The tokens and the ticket of one call. The caller must use the ticket. */
  final class Taken {
    private final Lease lease;
    private final Ticket ticket;
    private final long cost;
    private final long left;
    private final boolean isLow;

    private Taken(Lease lease, Ticket ticket, long cost, long left, boolean isLow) {
      this.lease = lease;
      this.ticket = ticket;
      this.cost = cost;
      this.left = left;
      this.isLow = isLow;
    }

    LeasedBuckets buckets() {
      return LeasedBuckets.this;
    }

    /** Returns the ticket of the call, with the time at which the lease was requested. */
    Ticket ticket() {
      return ticket;
    }

    /** Returns whether the lease has no tokens left after this call. */
    boolean isUsedUp() {
      return left == 0;
    }

    Lease lease() {
      return lease;
    }

    /** Returns whether the node should request another lease. */
    boolean isLow() {
      return isLow;
    }

    /**
     * Returns the time at which the cache charged the tokens, in microseconds since the epoch by
     * the cache's clock.
     */
    long takenAtEpochMicros() {
      return lease.allowed.decidedAtEpochMicros();
    }

    /**
     * Returns the reply that the cache would have sent for a smaller lease, with only the tokens of
     * this call and of earlier calls.
     *
     * @param index index of the bucket among the buckets of the call
     */
    BucketReply reply(int index) {
      BucketReply whole = lease.allowed.buckets().get(index);
      // at the maximum the time is clipped, so the time for fewer tokens is unknown
      boolean isCut = whole.resetMicros() >= BucketArithmetic.MAX_WAIT_MICROS;
      long sooner = isCut ? 0 : requests.get(index).limit().arithmetic().refillMicros(left);
      return new BucketReply(
          true,
          whole.remainingTokens() + left,
          Math.max(0, whole.resetMicros() - sooner),
          0,
          whole.epoch(),
          whole.version(),
          whole.chargedTokens() - left,
          true);
    }

    /** Returns the charge of each bucket. */
    List<Charge> charges() {
      List<Charge> charges = new ArrayList<>(requests.size());
      for (BucketRequest request : requests) {
        BucketReply reply = reply(charges.size());
        Stamp stamp =
            new Stamp(
                reply.epoch(),
                reply.version(),
                reply.chargedTokens(),
                request.limit().fullAtMicros(takenAtEpochMicros() + reply.resetMicros()));
        charges.add(new Charge(request.bucket(), cost, request.limit(), stamp));
      }
      return charges;
    }
  }
}
