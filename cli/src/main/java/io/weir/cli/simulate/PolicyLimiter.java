// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.simulate;

import io.weir.limits.BucketKey;
import io.weir.limits.BucketState;
import io.weir.limits.BucketView;
import io.weir.limits.ClientCalendar;
import io.weir.limits.CountedBucket;
import io.weir.limits.KeptBuckets;
import io.weir.limits.LogState;
import io.weir.limits.LoggedBucket;
import io.weir.limits.PeriodicLimit;
import io.weir.limits.PolicyLimit;
import io.weir.limits.SlidingWindow;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Simulates a policy's limit with the arithmetic of Redis. */
final class PolicyLimiter implements SimulatedLimiter {
  private static final long MICROS_PER_MILLI = 1_000;

  /** Maximum number of buckets on which a decision depends. */
  private static final int MAX_BUCKETS = SlidingWindow.MAX_SUB_WINDOWS + 1;

  private final PolicyLimit limit;
  private final Buckets kept = new Buckets();
  private String bucket = "";
  private PeriodicLimit.@Nullable Span period;

  PolicyLimiter(PolicyLimit limit) {
    this.limit = limit;
  }

  private BucketView at(long atMicros) {
    PeriodicLimit periodic = limit.periodic();
    if (periodic != null) {
      PeriodicLimit.Span now = periodic.at(atMicros / MICROS_PER_MILLI, ClientCalendar.OF_POLICY);
      if (!now.equals(period)) {
        period = now;
        bucket = BucketKey.of("simulated", "client").in(now.endEpochSecond()).text();
        kept.makeRoom();
      }
    }
    return limit.ofBucket(period).view(bucket, kept, atMicros);
  }

  @Override
  public boolean take(long atMicros) {
    BucketView view = at(atMicros);
    if (!view.holds(1)) {
      return false;
    }
    kept.put(bucket, view.charged(1));
    return true;
  }

  @Override
  public double used(long atMicros) {
    return limit.capacityTokens() - at(atMicros).levelTokens();
  }

  private static final class Buckets implements KeptBuckets {
    private final Map<String, BucketView> views = new LinkedHashMap<>();

    void put(String bucket, BucketView view) {
      views.put(bucket, view);
    }

    void makeRoom() {
      if (views.size() >= MAX_BUCKETS) {
        views.remove(views.keySet().iterator().next());
      }
    }

    @Override
    public @Nullable BucketState state(String bucket) {
      return views.get(bucket) instanceof CountedBucket counted ? counted.state() : null;
    }

    @Override
    public @Nullable LogState log(String bucket) {
      return views.get(bucket) instanceof LoggedBucket logged ? logged.log() : null;
    }
  }
}
