// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import io.weir.limits.LimitAlgorithm.MemberSink;
import java.time.Duration;
import java.time.temporal.ChronoUnit;

/**
 * A number of calls at once: each admitted call holds one slot, whatever its cost, until it
 * releases it, or until its lease has ended without a renewal.
 *
 * <p>Bound: at any moment, by the cache's clock, at most as many leases run as there are slots,
 * unless the limit has just been lowered, or the cache has lost its state. A holder that dies gives
 * its slot back when its lease ends. A limit that is lowered takes no slot away: nothing is
 * admitted until enough of them are free.
 *
 * <p>Its slots are kept in the cache alone, see {@link CacheOnlyLimit}. Memory: some 120 bytes for
 * each slot that is held. Immutable.
 *
 * @param capacityTokens slots; 1 to {@value #MAX_SLOTS}
 * @param leaseMicros how long a slot is held without a renewal, in microseconds; 100 ms to 24 hours
 */
public record ConcurrencyLimit(long capacityTokens, long leaseMicros) implements CacheOnlyLimit {
  /** Most slots of a bucket. */
  public static final long MAX_SLOTS = 10_000;

  /** Shortest lease: a renewal takes a few milliseconds, and may have to be repeated. */
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
   * Returns the slots, of which nobody has one: {@link SlotBucket#of} tells who asks for one.
   *
   * @param bucket the bucket's key
   */
  @Override
  public SlotBucket view(String bucket, KeptBuckets kept, long nowEpochMicros) {
    SlotState slots = kept.slots(bucket);
    return new SlotBucket(
        this, slots == null ? SlotState.EMPTY : slots, SlotClaim.NOBODY, nowEpochMicros);
  }

  /** Returns false: whoever holds a slot is admitted again. */
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
