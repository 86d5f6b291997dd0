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
 * The buckets that calls of one kind take their cost from (those that match the same policies, with
 * the same keys), how much these calls take, and their leases: at most {@value #MAX_LEASES} with
 * tokens left, of which the older one is used up first. Thread-safe.
 */
final class LeasedBuckets {
  /** One that is used, and one that is there when it is used up. */
  static final int MAX_LEASES = 2;

  /** Another lease is asked for when this part of the tokens, or of the time, is left. */
  private static final int LOW_PART = 4;

  /** Fewer tokens are not worth a lease. */
  private static final long LEAST_TOKENS = 2;

  private static final long NANOS_PER_MICRO = 1_000;

  /**
   * What calls have taken within the time of a lease.
   *
   * @param calls how many they are
   * @param tokens what they took
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
   * @param evaluated the policies of a call, each of which has terms
   * @param leastCalls a lease is asked for only if so many calls were made within its time before
   * @param nowNanos now, by a monotonic clock
   */
  LeasedBuckets(List<MatchedPolicy> evaluated, int leastCalls, long nowNanos) {
    this.leastCalls = leastCalls;
    this.asked = requests(evaluated);
    // a shadow bucket, too, gives a lease only if it holds all of it
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

  /** Returns the check that takes a lease. */
  Check check(long tokens) {
    return new Check(requests, tokens);
  }

  /** Returns whether these are the buckets of a call, under the same limits. */
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

  /** Notes that a call has taken tokens. */
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
   * Decides whether another lease is worth asking for, and of how many tokens. Either {@link
   * #begin} or {@link #refused} must follow, unless the result is 0.
   *
   * @return the tokens to ask for; 0 for no lease
   */
  synchronized long beginAsking(long nowNanos) {
    Use most = use.tokens > useBefore.tokens ? use : useBefore;
    long tokens = Math.min(mostTokens, most.tokens);
    if (isAsking
        // the tokens are worth a lease if they suffice for so many of these calls
        || (double) tokens * most.calls < (double) leastCalls * most.tokens
        || leases.size() >= MAX_LEASES
        || nowNanos - notBeforeNanos < 0
        || tokens < LEAST_TOKENS
        || (!leases.isEmpty() && !leases.getLast().isLow(nowNanos))) {
      return 0;
    }
    isAsking = true;
    return tokens;
  }

  /** Notes that no lease was given. For the time of a lease no other is asked for. */
  synchronized void refused(long nowNanos) {
    isAsking = false;
    notBeforeNanos = nowNanos + lengthNanos;
  }

  /**
   * Adds a lease.
   *
   * @param allowed the cache's answer
   * @param tokens what it was asked for
   * @param ticket obtained before it was asked; abandoned when the lease ends. Its calls have
   *     tickets of the same time
   * @param askedNanos before it was asked, by the monotonic clock
   */
  synchronized Lease begin(Decision.Allowed allowed, long tokens, Ticket ticket, long askedNanos) {
    isAsking = false;
    Lease lease = new Lease(allowed, tokens, ticket, askedNanos);
    leases.add(lease);
    return lease;
  }

  /** Takes tokens for a call; null if no lease has as many left. */
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

  /** Tokens that the cache has charged in advance to each of the buckets. Guarded by these. */
  final class Lease {
    private final Decision.Allowed allowed;
    private final long tokens;
    private final Ticket ticket;
    private final long askedNanos;
    private long used;
    private boolean isOver;

    private Lease(Decision.Allowed allowed, long tokens, Ticket ticket, long askedNanos) {
      this.allowed = allowed;
      this.tokens = tokens;
      this.ticket = ticket;
      this.askedNanos = askedNanos;
    }

    /** Returns for how long it may still give tokens to calls. */
    long leftNanos(long nowNanos) {
      return askedNanos + lengthNanos - nowNanos;
    }

    private boolean isLow(long nowNanos) {
      return (tokens - used) * LOW_PART < tokens || leftNanos(nowNanos) * LOW_PART < lengthNanos;
    }

    /** Ends the lease; returns the tokens that no call has taken, 0 if it has ended before. */
    long end() {
      synchronized (LeasedBuckets.this) {
        if (isOver) {
          return 0;
        }
        isOver = true;
        leases.remove(this);
        ticket.abandon();
        return tokens - used;
      }
    }
  }

  /** The tokens of one call, and its ticket, which must be used. */
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

    /** Returns the ticket of the call, of the time at which the lease was asked for. */
    Ticket ticket() {
      return ticket;
    }

    /** Returns whether the lease has no tokens left. */
    boolean isUsedUp() {
      return left == 0;
    }

    Lease lease() {
      return lease;
    }

    /** Returns whether another lease should be asked for. */
    boolean isLow() {
      return isLow;
    }

    /**
     * Returns when the tokens were taken from the cache, in microseconds since 1970 by its clock.
     */
    long takenAtEpochMicros() {
      return lease.allowed.decidedAtEpochMicros();
    }

    /**
     * Returns what a bucket would have replied, had the cache been asked for the tokens of these
     * calls alone when it was asked for those of the lease.
     *
     * @param index the bucket's index among those of the call
     */
    BucketReply reply(int index) {
      BucketReply whole = lease.allowed.buckets().get(index);
      // a longest time is cut, and says nothing of one that is less by so much
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
