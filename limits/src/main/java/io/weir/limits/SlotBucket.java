// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The slots of a {@link ConcurrencyLimit} and the claim of one holder, at the time of a decision. A
 * lease runs until its exclusive end, by the cache's clock.
 *
 * <p>Example: 2 slots and leases of 30 s. Holder A takes a slot at 0 s, and holder B takes a slot
 * at 10 s. At 20 s, holder C is denied and may retry after 10 s. At 25 s, holder A renews its
 * lease, which then ends at 55 s. Holder B does not renew its lease, which expires at 40 s. Holder
 * C then gets a slot.
 *
 * <p>If the cache's clock has stepped back since the slots were written, the time of the write
 * counts as now. Each lease then has the remaining time that it had when the slots were written.
 * Another holder therefore never gets a slot that is in use. The slot of a crashed holder is free
 * at most one lease after the step. Weir never writes a lease that ends later than twice the
 * longest lease from now, and therefore ignores such a lease.
 *
 * @param limit the limit
 * @param slots the stored slots
 * @param claim the claim of the caller
 * @param nowEpochMicros time by the cache's clock
 */
public record SlotBucket(
    ConcurrencyLimit limit, SlotState slots, SlotClaim claim, long nowEpochMicros)
    implements CacheOnlyBucket {
  public SlotBucket {
    long backMicros = slots.writtenMicros() - nowEpochMicros;
    slots = backMicros > 0 ? slots.earlierBy(backMicros) : slots;
  }

  /** Maximum time from now to the end of a lease; a lease that ends later does not count. */
  static final long MAX_AHEAD_MICROS = 2 * ConcurrencyLimit.MAX_LEASE_MICROS;

  /** Returns the same slots with the claim of another holder. */
  public SlotBucket of(SlotClaim other) {
    return new SlotBucket(limit, slots, other, nowEpochMicros);
  }

  private boolean runs(long endMicros) {
    return endMicros > nowEpochMicros && endMicros - nowEpochMicros <= MAX_AHEAD_MICROS;
  }

  private long[] running() {
    return slots.ends(this::runs);
  }

  /** Returns whether the holder has a slot. */
  public boolean isHeld() {
    return runs(slots.endMicros(claim.holder()));
  }

  @Override
  public boolean canHold(long costTokens) {
    return true;
  }

  /** Returns whether the holder has a slot or may take a slot, whatever the cost. */
  @Override
  public boolean holds(long costTokens) {
    return isHeld()
        || (nowEpochMicros < claim.untilEpochMicros() && running().length < limit.capacityTokens());
  }

  @Override
  public double levelTokens() {
    return limit.capacityTokens() - running().length;
  }

  /** Returns the number of free slots. */
  @Override
  public long remainingTokens() {
    return Math.max(0, limit.capacityTokens() - running().length);
  }

  /** Returns the time until all leases have expired if no lease is renewed. */
  @Override
  public long resetMicros() {
    return Arrays.stream(running()).max().orElse(nowEpochMicros) - nowEpochMicros;
  }

  /**
   * Returns the time until the first lease expires if no lease is renewed; 0 if the holder has a
   * slot or may take a slot. A holder may release its slot earlier.
   */
  @Override
  public long retryAfterMicros(long costTokens) {
    if (holds(costTokens)) {
      return 0;
    }
    return Arrays.stream(running()).min().orElse(nowEpochMicros + 1) - nowEpochMicros;
  }

  /** Returns the slots after the holder has taken a slot or renewed its lease. */
  @Override
  public SlotBucket charged(long costTokens) {
    if (!holds(costTokens)) {
      throw new IllegalArgumentException("no slot is free for the holder " + claim.holder());
    }
    return changed(
        slots.only(this::runs).with(claim.holder(), nowEpochMicros + limit.leaseMicros()));
  }

  /**
   * Returns the slots after the holder has released its slot. If the holder has no slot, nothing
   * changes.
   */
  public SlotBucket released() {
    return changed(slots.only(this::runs).without(claim.holder()));
  }

  /**
   * Returns the slots that the cache must write again if the clock has stepped back since the last
   * write; otherwise null.
   *
   * @param kept the stored slots
   */
  public @Nullable SlotBucket restarted(@Nullable SlotState kept) {
    return kept != null && kept.writtenMicros() > nowEpochMicros
        ? changed(slots.only(this::runs))
        : null;
  }

  private SlotBucket changed(SlotState after) {
    return new SlotBucket(limit, after.writtenAt(nowEpochMicros), claim, nowEpochMicros);
  }
}
