// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import io.weir.limits.BucketLimit;
import io.weir.limits.QuotaLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.correction.Correction;
import io.weir.topics.model.Charge;
import io.weir.topics.model.Stamp;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A decision cache in a few lines, by the same rules as the scripts of the real one but in
 * fractions: buckets are created full, expire when they have been full for a while, count what they
 * charge, and take corrections.
 */
final class SimulatedCache {
  private static final double EXPIRES_AFTER_FULL_MICROS = 10_000_000;

  private Map<String, Bucket> buckets = new HashMap<>();

  private static final class Bucket {
    long epoch;
    long version;
    long charged;
    double fullAtMicros;
    long quotaUsed;

    Bucket copy() {
      Bucket copy = new Bucket();
      copy.epoch = epoch;
      copy.version = version;
      copy.charged = charged;
      copy.fullAtMicros = fullAtMicros;
      copy.quotaUsed = quotaUsed;
      return copy;
    }
  }

  /** Takes the cost if the bucket holds it. */
  Charge check(String key, BucketLimit limit, long cost, long nowMicros) {
    Bucket bucket = buckets.get(key);
    if (bucket != null
        && limit instanceof TokenBucketLimit
        && nowMicros > bucket.fullAtMicros + EXPIRES_AFTER_FULL_MICROS) {
      bucket = null;
    }
    if (bucket == null) {
      bucket = new Bucket();
      bucket.epoch = nowMicros;
      bucket.fullAtMicros = (double) nowMicros;
    }
    long taken = holds(bucket, limit, cost, nowMicros) ? cost : 0;
    if (taken > 0) {
      bucket.charged += cost;
      bucket.quotaUsed += cost;
      bucket.fullAtMicros =
          Math.max(bucket.fullAtMicros, (double) nowMicros) + cost * interval(limit);
      buckets.put(key, bucket);
    }
    boolean known = buckets.containsKey(key);
    return new Charge(key, taken, limit, known ? stamp(bucket, limit) : null);
  }

  private static Stamp stamp(Bucket bucket, BucketLimit limit) {
    long fullAt =
        limit instanceof QuotaLimit quota
            ? quota.endsAtEpochMicros()
            : (long) Math.ceil(bucket.fullAtMicros);
    return new Stamp(bucket.epoch, bucket.version, bucket.charged, fullAt);
  }

  private static boolean holds(Bucket bucket, BucketLimit limit, long cost, long nowMicros) {
    if (limit instanceof QuotaLimit) {
      return limit.capacityTokens() - bucket.quotaUsed >= cost;
    }
    double behind =
        Math.max(bucket.fullAtMicros, (double) nowMicros) + cost * interval(limit) - nowMicros;
    return behind <= limit.capacityTokens() * interval(limit);
  }

  static double interval(BucketLimit limit) {
    return limit instanceof TokenBucketLimit bucket
        ? (double) bucket.refillPeriodMicros() / bucket.refillTokens()
        : 0;
  }

  void apply(Correction correction, long nowMicros) {
    Bucket kept = buckets.get(correction.bucket());
    if (kept != null
        && (kept.epoch > correction.epoch()
            || (kept.epoch == correction.epoch() && kept.version >= correction.version()))) {
      return;
    }
    long charged = correction.chargedTokens();
    if (kept != null && kept.epoch == correction.epoch()) {
      charged = kept.charged;
    }
    long since = Math.max(0, charged - correction.chargedTokens());
    Bucket bucket = new Bucket();
    bucket.epoch = correction.epoch();
    bucket.version = correction.version();
    bucket.charged = charged;
    bucket.quotaUsed = correction.totalTokens() + since;
    bucket.fullAtMicros =
        (double) Math.max(correction.fullAtEpochMicros(), nowMicros)
            + since * interval(correction.limit());
    buckets.put(correction.bucket(), bucket);
  }

  void flush() {
    buckets.clear();
  }

  /** A copy of the state now. */
  Map<String, Bucket> snapshot() {
    Map<String, Bucket> copy = new HashMap<>();
    buckets.forEach((key, bucket) -> copy.put(key, bucket.copy()));
    return copy;
  }

  void goBackTo(Map<String, Bucket> snapshot) {
    buckets = snapshot;
  }

  /** Tokens missing from a full bucket, or used of a quota. */
  double missing(String key, BucketLimit limit, long nowMicros) {
    Bucket bucket = buckets.get(key);
    if (bucket == null) {
      return 0;
    }
    return limit instanceof QuotaLimit
        ? bucket.quotaUsed
        : Math.max(0, bucket.fullAtMicros - nowMicros) / interval(limit);
  }

  /** Value of a bucket for comparisons; null when there is none. */
  @Nullable String state(String key) {
    Bucket bucket = buckets.get(key);
    return bucket == null
        ? null
        : bucket.epoch + " " + bucket.version + " " + bucket.charged + " " + bucket.fullAtMicros;
  }
}
