// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The slots of a {@link ConcurrencyLimit} as seen by one holder. A lease runs until its end,
 * exclusive, by the cache's clock.
 *
 * <p>Worked example: 2 slots, leases of 30 s. A takes one at 0 s, B at 10 s; C is denied at 20 s,
 * retry after 10 s. At 25 s A renews, so its lease ends at 55 s. At 40 s B's lease has expired
 * without a renewal, and C gets a slot.
 *
 * <p>If the cache's clock has stepped back since the slots were written, the time of the write
 * counts as now. Each lease then has the remaining time that it had at the write. A slot in use is
 * therefore never given to another holder. The slot of a crashed holder is free one lease after the
 * step at the latest. A lease that ends later than twice the longest lease from now was not written
 * by Weir, and does not count.
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

  /** Maximum time from now to the end of a valid lease. */
  static final long MAX_AHEAD_MICROS = 2 * ConcurrencyLimit.MAX_LEASE_MICROS;

  /** Returns the same slots as seen by another holder. */
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

  /** Returns whether the holder has a slot or may take one, whatever the cost. */
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

  /** Returns the time until all leases have expired if none is renewed. */
  @Override
  public long resetMicros() {
    return Arrays.stream(running()).max().orElse(nowEpochMicros) - nowEpochMicros;
  }

  /**
   * Returns the time until the first lease expires without a renewal; a slot may be released
   * sooner. Returns 0 if the holder has a slot or may take one.
   */
  @Override
  public long retryAfterMicros(long costTokens) {
    if (holds(costTokens)) {
      return 0;
    }
    return Arrays.stream(running()).min().orElse(nowEpochMicros + 1) - nowEpochMicros;
  }

  /** Returns the slots after the holder has taken a slot or renewed its slot. */
  @Override
  public SlotBucket charged(long costTokens) {
    if (!holds(costTokens)) {
      throw new IllegalArgumentException("there is no slot for " + claim.holder());
    }
    return changed(
        slots.only(this::runs).with(claim.holder(), nowEpochMicros + limit.leaseMicros()));
  }

  /** Returns the slots after the holder has released its slot, if it has one. */
  public SlotBucket released() {
    return changed(slots.only(this::runs).without(claim.holder()));
  }

  /**
   * Returns the unchanged slots to be written again because the clock has stepped back since they
   * were written; null if it has not.
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
