// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

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
 * The buckets that calls of one kind take their cost from, how much these calls take, and their
 * leases: at most {@value #MAX_LEASES} with tokens left, of which the older one is used up first.
 * Thread-safe.
 */
final class LeasedBuckets {
  /** One that is used, and one that is there when it is used up. */
  static final int MAX_LEASES = 2;

  /** Another lease is asked for when this part of the tokens, or of the time, is left. */
  private static final int LOW_PART = 4;

  /** Fewer tokens are not worth a lease. */
  private static final long LEAST_TOKENS = 2;

  private static final long NANOS_PER_MICRO = 1_000;

  private final List<BucketRequest> asked;
  private final List<BucketRequest> requests;
  private final long mostTokens;
  private final long lengthNanos;

  // guarded by this
  private final Deque<Lease> leases = new ArrayDeque<>();
  private long windowBeganNanos;
  private long usedInWindow;
  private long usedInWindowBefore;
  private long notBeforeNanos;
  private boolean isAsking;

  /**
   * Creates buckets without leases.
   *
   * @param evaluated the policies of a call, each of which has terms
   * @param nowNanos now, by a monotonic clock
   */
  LeasedBuckets(List<MatchedPolicy> evaluated, long nowNanos) {
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
      usedInWindowBefore = elapsedNanos < 2 * lengthNanos ? usedInWindow : 0;
      usedInWindow = 0;
      windowBeganNanos = nowNanos;
    }
    usedInWindow += tokens;
  }

  /**
   * Returns for how many tokens a lease is to be asked, which is then being asked for; 0 for none.
   */
  synchronized long beginAsking(long nowNanos) {
    long tokens = Math.min(mostTokens, Math.max(usedInWindow, usedInWindowBefore));
    if (isAsking
        || leases.stream().filter(lease -> lease.used < lease.tokens).count() >= MAX_LEASES
        || nowNanos - notBeforeNanos < 0
        || tokens < LEAST_TOKENS
        || (!leases.isEmpty() && !leases.getLast().isLow(nowNanos))) {
      return 0;
    }
    isAsking = true;
    return tokens;
  }

  /** Notes that no lease was given; none is asked for again for as long as one lasts. */
  synchronized void refused(long nowNanos) {
    isAsking = false;
    notBeforeNanos = nowNanos + lengthNanos;
  }

  /**
   * Adds a lease.
   *
   * @param allowed the cache's answer
   * @param tokens what it was asked for
   * @param ticket obtained before it was asked; abandoned when the lease has ended and its calls
   *     are recorded
   * @param askedNanos before it was asked, by the monotonic clock
   */
  synchronized Lease begin(Decision.Allowed allowed, long tokens, Ticket ticket, long askedNanos) {
    isAsking = false;
    Lease lease = new Lease(allowed, tokens, ticket, askedNanos);
    leases.add(lease);
    return lease;
  }

  synchronized List<Lease> leases() {
    return List.copyOf(leases);
  }

  /** Takes tokens for a call; null if no lease has as many left. */
  synchronized @Nullable Taken take(long cost, long nowNanos) {
    for (Lease lease : leases) {
      if (lease.tokens - lease.used >= cost && lease.leftNanos(nowNanos) > 0) {
        noteUse(cost, nowNanos);
        lease.used += cost;
        lease.unrecorded++;
        boolean isLow = lease == leases.getLast() && lease.isLow(nowNanos);
        return new Taken(lease, cost, lease.tokens - lease.used, isLow);
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
    private int unrecorded;
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
        over();
        return tokens - used;
      }
    }

    private void recorded() {
      synchronized (LeasedBuckets.this) {
        unrecorded--;
        if (unrecorded > 0) {
          return;
        }
        if (isOver) {
          ticket.abandon();
        } else if (used == tokens) {
          over();
        }
      }
    }

    private void over() {
      isOver = true;
      leases.remove(this);
      if (unrecorded == 0) {
        ticket.abandon();
      }
    }
  }

  /** The tokens of one call. {@link #recorded} must follow. */
  final class Taken {
    private final Lease lease;
    private final long cost;
    private final long left;
    private final boolean isLow;

    private Taken(Lease lease, long cost, long left, boolean isLow) {
      this.lease = lease;
      this.cost = cost;
      this.left = left;
      this.isLow = isLow;
    }

    LeasedBuckets buckets() {
      return LeasedBuckets.this;
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
      long sooner = requests.get(index).limit().arithmetic().refillMicros(left);
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

    /** Notes that the call is recorded, or never will be. */
    void recorded() {
      lease.recorded();
    }
  }
}
