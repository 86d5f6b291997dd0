// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.deny;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.weir.limits.BucketArithmetic;
import io.weir.limits.BucketLimit;
import io.weir.limits.Refill;
import io.weir.limits.check.BucketReply;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.limits.check.Decision.StillDenied.Shortage;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A cache of denials that are still valid. With this cache, a node denies the calls of a client
 * over its limit, without a request to the decision cache. Thread-safe.
 *
 * <p>A denial states the time until its bucket has enough tokens for the cost if no call takes
 * tokens. Later charges only increase this time. A correction can add tokens to the bucket; the
 * caller must then call {@link #drop}. Until this time has elapsed, the decision cache would deny
 * every call with the same bucket and limit, and at least the same cost. This class measures this
 * time with the clock of this process, from a moment before the request to the decision cache.
 * Therefore no denial is kept too long.
 *
 * <p>This class cannot detect some changes: a bucket was deleted, a node with other policies uses
 * another limit, or the decision cache's clock stepped forward. After one of these changes, a
 * denial is wrong for at most the maximum age.
 */
public final class DenyCache {
  /**
   * Maximum number of cached buckets. Above the maximum, the least frequently used buckets are
   * evicted.
   */
  public static final int MAX_BUCKETS = 65_536;

  private static final long NANOS_PER_MICRO = 1_000;

  private final long maxAgeNanos;
  private final LongSupplier nanos;
  private final Cache<String, Denial> denials;
  private volatile boolean wasWarm = true;

  /**
   * The denial of one bucket.
   *
   * @param source identifies the state of the decision cache
   * @param costTokens smallest cost that was denied
   * @param reply the reply for the bucket to a check with this cost
   * @param beforeDenialNanos a time before the decision cache denied the cost
   * @param afterDenialNanos a time after the decision cache denied the cost
   */
  private record Denial(
      Object source,
      BucketRequest request,
      long costTokens,
      BucketReply reply,
      long beforeDenialNanos,
      long afterDenialNanos) {}

  /**
   * Creates an empty cache.
   *
   * @param maxAge maximum age of a denial; zero to cache no denials
   * @param nanos clock with the semantics of {@link System#nanoTime}
   */
  public DenyCache(Duration maxAge, LongSupplier nanos) {
    this.maxAgeNanos = maxAge.toNanos();
    this.nanos = nanos;
    this.denials =
        Caffeine.newBuilder()
            .maximumSize(maxAge.isZero() ? 0 : MAX_BUCKETS)
            .expireAfterWrite(maxAge)
            .ticker(nanos::getAsLong)
            .executor(Runnable::run)
            .build();
  }

  /** Returns whether denials are cached. */
  public boolean isOn() {
    return maxAgeNanos > 0;
  }

  /**
   * Returns the denial of a check; null if a request to the decision cache is required.
   *
   * @param source identifies the current state of the decision cache; denials of earlier states are
   *     not used
   */
  public Decision.@Nullable StillDenied find(Object source, Check check) {
    if (!isOn()) {
      return null;
    }
    long now = nanos.getAsLong();
    List<Shortage> shortages = null;
    for (int i = 0; i < check.buckets().size(); i++) {
      BucketRequest request = check.buckets().get(i);
      if (!request.enforced()) {
        continue;
      }
      if (!request.limit().canHold(check.cost())) {
        return null; // a retry cannot succeed; the decision cache returns another kind of denial
      }
      Denial denial = denials.getIfPresent(request.bucket());
      BucketReply reply =
          denial == null || denial.source != source ? null : reply(denial, request, check, now);
      if (reply != null) {
        shortages = shortages == null ? new ArrayList<>(2) : shortages;
        shortages.add(new Shortage(i, reply));
      }
    }
    return shortages == null ? null : new Decision.StillDenied(shortages);
  }

  /** Returns the current reply for the bucket; null if the bucket may have enough tokens. */
  private @Nullable BucketReply reply(Denial denial, BucketRequest request, Check check, long now) {
    long mostElapsedNanos = now - denial.beforeDenialNanos;
    if (check.cost() < denial.costTokens
        || mostElapsedNanos >= maxAgeNanos
        || !denial.request.limit().equals(request.limit())) {
      return null;
    }
    Refill refill = request.limit().refill();
    long deniedMicros =
        denial.reply.retryAfterMicros()
            + leastMicros(request.limit(), check.cost() - denial.costTokens);
    if (mostElapsedNanos / NANOS_PER_MICRO + 1 >= deniedMicros) {
      return null;
    }
    // rounded up: a call after this time must not be denied again
    long elapsedMicros = (now - denial.afterDenialNanos) / NANOS_PER_MICRO;
    long retryAfterMicros = deniedMicros - elapsedMicros;
    long remaining =
        refill == null
            ? denial.reply.remainingTokens()
            : Math.max(0, check.cost() - (long) Math.ceil(refill.tokensIn(retryAfterMicros)));
    return new BucketReply(
        false,
        remaining,
        Math.max(retryAfterMicros, denial.reply.resetMicros() - elapsedMicros),
        retryAfterMicros,
        0,
        0,
        0,
        false);
  }

  /**
   * Returns the minimum time in which a bucket gains the given number of tokens. The time is a
   * multiple of a tick, because a bucket gains tokens once per tick.
   */
  private static long leastMicros(BucketLimit limit, long moreTokens) {
    BucketArithmetic.Parameters parameters = limit.arithmetic().parameters();
    return parameters.unitsPerTick() == 0
        ? 0 // the bucket gains all tokens at the end of its period
        : moreTokens
            * parameters.unitsPerToken()
            / parameters.unitsPerTick()
            * parameters.tickMicros();
  }

  /**
   * Caches a denial. Callers must call this method, {@link #drop} and {@link #seen} in the order of
   * the events in the decision cache.
   *
   * @param source identifies the state of the decision cache
   * @param askedNanos a time before the decision cache denied the check
   */
  public void note(Object source, Check check, Decision.Denied denied, long askedNanos) {
    if (!isOn()) {
      return;
    }
    long now = nanos.getAsLong();
    for (int i = 0; i < check.buckets().size(); i++) {
      BucketRequest request = check.buckets().get(i);
      BucketReply reply = denied.buckets().get(i);
      // not for sliding windows: if an earlier sub-window changes, no correction of this bucket
      // reports the change
      if (request.enforced() && reply.retryAfterMicros() > 0 && request.limit().decidesAlone()) {
        denials.put(
            request.bucket(), new Denial(source, request, check.cost(), reply, askedNanos, now));
      }
    }
  }

  /** Removes the denial of a bucket to which a correction has added tokens. */
  public void drop(String bucket) {
    denials.invalidate(bucket);
  }

  /**
   * Records whether the decision cache was restored when it made a decision. If the decision cache
   * has lost its state, its buckets may have enough tokens again. In this case the method removes
   * all denials. Later denials are cached again.
   */
  public void seen(boolean warm) {
    if (wasWarm && !warm) {
      denials.invalidateAll();
    }
    if (wasWarm != warm) {
      wasWarm = warm;
    }
  }

  /** Returns the number of cached buckets. */
  public long bucketCount() {
    denials.cleanUp();
    return denials.estimatedSize();
  }
}
