// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import io.weir.limits.LimitAlgorithm.MemberSink;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;

/**
 * A limit on concurrent calls. Each admitted call holds one slot, whatever its cost, until it
 * releases the slot or the lease expires.
 *
 * <p>Bound: at any time of the cache's clock, the number of running leases is at most the number of
 * slots. The bound has two exceptions: the limit was just lowered, or the cache has lost its state.
 * If a holder crashes, its slot becomes free when the lease expires. If a limit is lowered, calls
 * keep their slots, and no new call is admitted until enough slots are free.
 *
 * <p>The slots exist only in the cache; see {@link CacheOnlyLimit}. Memory: about 120 bytes per
 * held slot. Immutable.
 *
 * @param capacityTokens number of slots; 1 to {@value #MAX_SLOTS}
 * @param leaseMicros length of a lease without a renewal, in microseconds; 100 ms to 24 hours
 */
public record ConcurrencyLimit(long capacityTokens, long leaseMicros) implements CacheOnlyLimit {
  /** Maximum number of slots of a bucket. */
  public static final long MAX_SLOTS = 10_000;

  /** Shortest lease: 100 ms. A renewal takes a few milliseconds, and may need a retry. */
  public static final long MIN_LEASE_MICROS = 100_000;

  /** Longest lease: 24 hours. */
  public static final long MAX_LEASE_MICROS = 24 * 3_600_000_000L;

  public ConcurrencyLimit {
    Numbers.require("limit", capacityTokens, 1, MAX_SLOTS);
    Numbers.require("lease (µs)", leaseMicros, MIN_LEASE_MICROS, MAX_LEASE_MICROS);
  }

  @Override
  public LimitAlgorithm algorithm() {
    return LimitAlgorithm.CONCURRENCY;
  }

  /** Returns true because a call takes one slot, whatever its cost. */
  @Override
  public boolean canHold(long costTokens) {
    return true;
  }

  /**
   * Returns the slots with the claim of a caller that holds no slot. {@link SlotBucket#of} sets
   * another claim.
   *
   * @param bucket the bucket's key
   */
  @Override
  public SlotBucket view(String bucket, KeptBuckets kept, long nowEpochMicros) {
    SlotState slots = kept.slots(bucket);
    return new SlotBucket(
        this, slots == null ? SlotState.EMPTY : slots, SlotClaim.NOBODY, nowEpochMicros);
  }

  @Override
  public boolean limitsConcurrency() {
    return true;
  }

  /** Returns false because the holder of a slot is admitted again even if no slot is free. */
  @Override
  public boolean decidesAlone() {
    return false;
  }

  @Override
  public long windowMicros(PeriodicLimit.@Nullable Span period) {
    return leaseMicros;
  }

  @Override
  public int scriptKind() {
    return 62;
  }

  @Override
  public long[] scriptNumbers() {
    return new long[] {leaseMicros};
  }

  @Override
  public String keyOf(String cacheOnlyText) {
    return BucketKey.ofSlots(cacheOnlyText);
  }

  @Override
  public ConcurrencyLimit shareOf(int nodes) {
    return new ConcurrencyLimit(Math.max(1, capacityTokens / nodes), leaseMicros);
  }

  @Override
  public boolean isNoWiderThan(PolicyLimit other) {
    return other instanceof ConcurrencyLimit limit
        && capacityTokens <= limit.capacityTokens
        && leaseMicros >= limit.leaseMicros;
  }

  @Override
  public String describe() {
    return String.format(
        "%d concurrent calls, each for %s without a renewal",
        capacityTokens, Duration.of(leaseMicros, ChronoUnit.MICROS));
  }

  @Override
  public <E extends Exception> void writeTo(MemberSink<E> sink) throws E {
    sink.member("capacity", capacityTokens);
    sink.member("lease_us", leaseMicros);
  }
}
