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
 * Denials of a decision cache that still hold, so that the calls of a client that is over its limit
 * are denied without asking. Thread-safe.
 *
 * <p>A denial says how long its bucket cannot hold the cost if nothing is charged. Charges only
 * make that longer, and nothing else changes a bucket but a correction that gives it tokens, of
 * which the caller must tell ({@link #drop}). So until then every call of that bucket, by the same
 * limit and of at least the same cost, is denied by the cache, too. The time counts from before the
 * cache was asked, so no clock but this process's is needed, and no denial is kept too long.
 *
 * <p>What is not told holds for at most the greatest age: a bucket that was deleted, moved on by
 * another limit (nodes with different policies), or refilled by a step of the cache's clock.
 */
public final class DenyCache {
  /** Most buckets that are remembered; of more, those that were asked for least are forgotten. */
  public static final int MAX_BUCKETS = 65_536;

  private static final long NANOS_PER_MICRO = 1_000;

  private final long maxAgeNanos;
  private final LongSupplier nanos;
  private final Cache<String, Denial> denials;
  private volatile boolean wasWarm = true;

  /**
   * What is known of one bucket.
   *
   * @param source the state of the cache that denied
   * @param costTokens the least cost that is known to be denied
   * @param reply the bucket's reply to that cost
   * @param askedNanos a time before the cache denied
   * @param toldNanos a time after the cache denied
   */
  private record Denial(
      Object source,
      BucketRequest request,
      long costTokens,
      BucketReply reply,
      long askedNanos,
      long toldNanos) {}

  /**
   * Creates an empty cache.
   *
   * @param maxAge how long a denial is kept at most; zero to keep none
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

  /** Returns whether any denial is kept. */
  public boolean isOn() {
    return maxAgeNanos > 0;
  }

  /**
   * Returns the denial of a check, or null if the cache has to be asked.
   *
   * @param source the present state of the cache; a denial of another one does not hold
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
        return null; // waiting does not help, which is another denial
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

  /** Returns what the bucket would reply now, or null if it may hold the cost. */
  private @Nullable BucketReply reply(Denial denial, BucketRequest request, Check check, long now) {
    long mostElapsedNanos = now - denial.askedNanos;
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
    // told late rather than early, so that a caller who waits for it is not denied again
    long elapsedMicros = (now - denial.toldNanos) / NANOS_PER_MICRO;
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
   * Returns how much longer a bucket lacks a cost that is so much greater, at the least: in whole
   * ticks, since it is refilled by these.
   */
  private static long leastMicros(BucketLimit limit, long moreTokens) {
    BucketArithmetic.Parameters parameters = limit.arithmetic().parameters();
    return parameters.unitsPerTick() == 0
        ? 0 // by the end of its period at once
        : moreTokens
            * parameters.unitsPerToken()
            / parameters.unitsPerTick()
            * parameters.tickMicros();
  }

  /**
   * Notes what the cache has denied. Denials, drops and states of the cache must be told in the
   * order in which they happened in the cache.
   *
   * @param source the state of the cache that denied
   * @param askedNanos a time before the cache denied
   */
  public void note(Object source, Check check, Decision.Denied denied, long askedNanos) {
    if (!isOn()) {
      return;
    }
    long now = nanos.getAsLong();
    for (int i = 0; i < check.buckets().size(); i++) {
      BucketRequest request = check.buckets().get(i);
      BucketReply reply = denied.buckets().get(i);
      // what its earlier buckets are given, no message tells of this one
      if (request.enforced() && reply.retryAfterMicros() > 0 && request.limit().decidesAlone()) {
        denials.put(
            request.bucket(), new Denial(source, request, check.cost(), reply, askedNanos, now));
      }
    }
  }

  /** Drops what is known of a bucket, which may hold more than was said. */
  public void drop(String bucket) {
    denials.invalidate(bucket);
  }

  /**
   * Notes whether the cache had its state when it decided. One that has lost it holds more than was
   * said, so all is dropped; what it denies from then on is known as before.
   */
  public void seen(boolean warm) {
    if (wasWarm && !warm) {
      denials.invalidateAll();
    }
    if (wasWarm != warm) {
      wasWarm = warm;
    }
  }

  /** Returns the number of buckets that are remembered. */
  public long bucketCount() {
    denials.cleanUp();
    return denials.estimatedSize();
  }
}
