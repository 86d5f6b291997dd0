// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import io.weir.limits.LimitAlgorithm.MemberSink;
import java.time.Duration;
import java.time.temporal.ChronoUnit;

/**
 * A limit on concurrent calls. Each admitted call holds one slot, whatever its cost. It holds the
 * slot until it releases it, or until its lease has expired without a renewal.
 *
 * <p>Bound: at any moment, by the cache's clock, the number of running leases is at most the number
 * of slots. Exceptions: the limit has just been lowered, or the cache has lost its state. The slot
 * of a holder that has crashed becomes free when its lease expires. Lowering a limit does not
 * revoke slots: no call is admitted until enough slots are free.
 *
 * <p>Its slots exist only in the cache; see {@link CacheOnlyLimit}. Memory: about 120 bytes per
 * held slot. Immutable.
 *
 * @param capacityTokens slots; 1 to {@value #MAX_SLOTS}
 * @param leaseMicros how long a slot is held without a renewal, in microseconds; 100 ms to 24 hours
 */
public record ConcurrencyLimit(long capacityTokens, long leaseMicros) implements CacheOnlyLimit {
  /** Most slots of a bucket. */
  public static final long MAX_SLOTS = 10_000;

  /** Shortest lease: a renewal takes a few milliseconds, and may need a retry. */
  public static final long MIN_LEASE_MICROS = 100_000;

  /** Longest lease. */
  public static final long MAX_LEASE_MICROS = 24 * 3_600_000_000L;

  public ConcurrencyLimit {
    Numbers.require("limit", capacityTokens, 1, MAX_SLOTS);
    Numbers.require("lease (µs)", leaseMicros, MIN_LEASE_MICROS, MAX_LEASE_MICROS);
  }

  @Override
  public LimitAlgorithm algorithm() {
    return LimitAlgorithm.CONCURRENCY;
  }

  /** Returns true: a call takes one slot, whatever its cost. */
  @Override
  public boolean canHold(long costTokens) {
    return true;
  }

  /**
   * Returns the slots as seen by a caller without a slot. {@link SlotBucket#of} sets the claim of
   * the caller.
   *
   * @param bucket the bucket's key
   */
  @Override
  public SlotBucket view(String bucket, KeptBuckets kept, long nowEpochMicros) {
    SlotState slots = kept.slots(bucket);
    return new SlotBucket(
        this, slots == null ? SlotState.EMPTY : slots, SlotClaim.NOBODY, nowEpochMicros);
  }

  /** Returns false: a holder of a slot is admitted again even if no slot is free. */
  @Override
  public boolean decidesAlone() {
    return false;
  }

  @Override
  public long windowMicros(BucketArithmetic arithmetic) {
    return leaseMicros;
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
        "%d at once, each for %s without a renewal",
        capacityTokens, Duration.of(leaseMicros, ChronoUnit.MICROS));
  }

  @Override
  public <E extends Exception> void writeTo(MemberSink<E> sink) throws E {
    sink.member("capacity", capacityTokens);
    sink.member("lease_us", leaseMicros);
  }
}
