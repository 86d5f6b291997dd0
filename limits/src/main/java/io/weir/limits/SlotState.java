// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongPredicate;

/**
 * The slots that the cache stores for one bucket: the holders, the ends of their leases and the
 * time of the last write. Immutable.
 */
public final class SlotState {
  /** Slots without holders. */
  public static final SlotState EMPTY = new SlotState(new String[0], new long[0], 0);

  private final String[] holders;
  private final long[] endsMicros;
  private final long writtenMicros;

  private SlotState(String[] holders, long[] endsMicros, long writtenMicros) {
    this.holders = holders;
    this.endsMicros = endsMicros;
    this.writtenMicros = writtenMicros;
  }

  /** Returns the time of the last write by the cache's clock; 0 if the time is unknown. */
  long writtenMicros() {
    return writtenMicros;
  }

  /**
   * Returns these slots with another time of the last write; {@link #EMPTY} if there is no holder.
   */
  public SlotState writtenAt(long epochMicros) {
    return size() == 0 ? EMPTY : new SlotState(holders, endsMicros, epochMicros);
  }

  /** Returns these slots after subtracting the given duration from all times. */
  SlotState earlierBy(long micros) {
    long[] ends = Arrays.stream(endsMicros).map(end -> end - micros).toArray();
    return new SlotState(holders, ends, writtenMicros - micros);
  }

  /** Returns the number of holders, including those with expired leases. */
  public int size() {
    return holders.length;
  }

  /** Returns when each holder's lease ends, in microseconds since 1970 by the cache's clock. */
  public Map<String, Long> byHolder() {
    Map<String, Long> ends = new HashMap<>();
    for (int i = 0; i < holders.length; i++) {
      ends.put(holders[i], endsMicros[i]);
    }
    return ends;
  }

  /** Returns when a holder's lease ends; 0 if the holder has no lease. */
  long endMicros(String holder) {
    for (int i = 0; i < holders.length; i++) {
      if (holders[i].equals(holder)) {
        return endsMicros[i];
      }
    }
    return 0;
  }

  /** Returns the ends of the leases that satisfy a condition, in no defined order. */
  long[] ends(LongPredicate counts) {
    return Arrays.stream(endsMicros).filter(counts).toArray();
  }

  /**
   * Returns these slots with a new lease of a holder. The new lease replaces the holder's previous
   * lease.
   */
  public SlotState with(String holder, long endMicros) {
    SlotState others = without(holder);
    int size = others.size();
    String[] all = Arrays.copyOf(others.holders, size + 1);
    long[] ends = Arrays.copyOf(others.endsMicros, size + 1);
    all[size] = holder;
    ends[size] = endMicros;
    return new SlotState(all, ends, writtenMicros);
  }

  /** Returns these slots without the lease of a holder. */
  SlotState without(String holder) {
    return filtered((each, end) -> !each.equals(holder));
  }

  /** Returns the slots whose leases end at a time that satisfies a condition. */
  SlotState only(LongPredicate counts) {
    return filtered((each, end) -> counts.test(end));
  }

  private interface Condition {
    boolean test(String holder, long endMicros);
  }

  private SlotState filtered(Condition kept) {
    String[] left = new String[size()];
    long[] ends = new long[size()];
    int count = 0;
    for (int i = 0; i < size(); i++) {
      if (kept.test(holders[i], endsMicros[i])) {
        left[count] = holders[i];
        ends[count++] = endsMicros[i];
      }
    }
    return new SlotState(Arrays.copyOf(left, count), Arrays.copyOf(ends, count), writtenMicros);
  }

  /**
   * Returns whether the other state has the same time of the last write and the same leases, in any
   * order.
   */
  @Override
  public boolean equals(Object other) {
    return other instanceof SlotState slots
        && writtenMicros == slots.writtenMicros
        && byHolder().equals(slots.byHolder());
  }

  @Override
  public int hashCode() {
    return byHolder().hashCode();
  }

  @Override
  public String toString() {
    return byHolder() + " written at " + writtenMicros;
  }
}
