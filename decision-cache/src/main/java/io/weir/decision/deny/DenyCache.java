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
 * Remembers denials of a decision cache that are still valid. Calls of a client over its limit are
 * then denied without a request to the cache. Thread-safe.
 *
 * <p>A denial states how long its bucket will lack the cost if nothing is charged. Charges only
 * extend that time. The only other change of a bucket is a correction that adds tokens; the caller
 * must then call {@link #drop}. Until the time ends, the cache would deny every call of the bucket
 * with the same limit and at least the same cost. The time counts from before the request to the
 * cache. Only the clock of this process is therefore needed, and no denial is kept too long.
 *
 * <p>Some changes are not reported: a deleted bucket, a bucket under another limit (nodes with
 * different policies), or a refill by a step of the cache's clock. A denial is then wrong for at
 * most the maximum age.
 */
public final class DenyCache {
  /** Maximum number of remembered buckets; above it, the least requested buckets are forgotten. */
  public static final int MAX_BUCKETS = 65_536;

  private static final long NANOS_PER_MICRO = 1_000;

  private final long maxAgeNanos;
  private final LongSupplier nanos;
  private final Cache<String, Denial> denials;
  private volatile boolean wasWarm = true;

  /**
   * The denial of one bucket.
   *
   * @param source the state of the cache that denied
   * @param costTokens the least cost known to be denied
   * @param reply the bucket's reply to that cost
   * @param beforeDenialNanos a time before the cache denied the cost
   * @param afterDenialNanos a time after the cache denied the cost
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
   * @param maxAge maximum age of a denial; zero to keep none
   * @param nanos the process's clock, as {@link System#nanoTime}
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

  /** Returns whether denials are kept. */
  public boolean isOn() {
    return maxAgeNanos > 0;
  }

  /**
   * Returns the denial of a check, or null if a request to the cache is needed.
   *
   * @param source the current state of the cache; a denial of another state is not valid
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
        return null; // a retry cannot succeed; the cache answers with another denial
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

  /** Returns the current reply of the bucket, or null if it may hold the cost. */
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
    // rounded up, so that a caller that waits for this time is not denied again
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
   * Returns the least additional time for which a bucket lacks a cost that is greater by the given
   * tokens. It is a multiple of the tick, since a tick is the unit of refill.
   */
  private static long leastMicros(BucketLimit limit, long moreTokens) {
    BucketArithmetic.Parameters parameters = limit.arithmetic().parameters();
    return parameters.unitsPerTick() == 0
        ? 0 // at the end of its period, the bucket gains all tokens at once
        : moreTokens
            * parameters.unitsPerToken()
            / parameters.unitsPerTick()
            * parameters.tickMicros();
  }

  /**
   * Remembers a denial of the cache. Denials, drops and states of the cache must be passed in the
   * order in which they happened in the cache.
   *
   * @param source the state of the cache that denied
   * @param askedNanos a time before the denial
   */
  public void note(Object source, Check check, Decision.Denied denied, long askedNanos) {
    if (!isOn()) {
      return;
    }
    long now = nanos.getAsLong();
    for (int i = 0; i < check.buckets().size(); i++) {
      BucketRequest request = check.buckets().get(i);
      BucketReply reply = denied.buckets().get(i);
      // not for sliding windows: a correction of an earlier sub-window is not published for this
      // bucket
      if (request.enforced() && reply.retryAfterMicros() > 0 && request.limit().decidesAlone()) {
        denials.put(
            request.bucket(), new Denial(source, request, check.cost(), reply, askedNanos, now));
      }
    }
  }

  /** Forgets the denial of a bucket that has gained tokens. */
  public void drop(String bucket) {
    denials.invalidate(bucket);
  }

  /**
   * Records whether the cache was warm at a decision. If it has lost its state, its buckets may
   * hold more, so all denials are dropped. Later denials are remembered again.
   */
  public void seen(boolean warm) {
    if (wasWarm && !warm) {
      denials.invalidateAll();
    }
    if (wasWarm != warm) {
      wasWarm = warm;
    }
  }

  /** Returns the number of remembered buckets. */
  public long bucketCount() {
    denials.cleanUp();
    return denials.estimatedSize();
  }
}
