// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongPredicate;

/** The holders of the slots of one bucket, and when their leases end. Immutable. */
public final class SlotState {
  /** Slots that nobody holds. */
  public static final SlotState EMPTY = new SlotState(new String[0], new long[0]);

  private final String[] holders;
  private final long[] endsMicros;

  private SlotState(String[] holders, long[] endsMicros) {
    this.holders = holders;
    this.endsMicros = endsMicros;
  }

  /** Returns the number of holders, with those whose leases have ended. */
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

  /** Returns when a holder's lease ends; 0 if it has none. */
  long endMicros(String holder) {
    for (int i = 0; i < holders.length; i++) {
      if (holders[i].equals(holder)) {
        return endsMicros[i];
      }
    }
    return 0;
  }

  /** Returns the ends of the leases that fulfil a condition, in no order. */
  long[] ends(LongPredicate counts) {
    return Arrays.stream(endsMicros).filter(counts).toArray();
  }

  /** Returns these slots with a lease of a holder, which replaces an earlier one of the same. */
  public SlotState with(String holder, long endMicros) {
    SlotState others = without(holder);
    int size = others.size();
    String[] all = Arrays.copyOf(others.holders, size + 1);
    long[] ends = Arrays.copyOf(others.endsMicros, size + 1);
    all[size] = holder;
    ends[size] = endMicros;
    return new SlotState(all, ends);
  }

  /** Returns these slots without the lease of a holder. */
  SlotState without(String holder) {
    return filtered((each, end) -> !each.equals(holder));
  }

  /** Returns the slots whose leases' ends fulfil a condition. */
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
    return new SlotState(Arrays.copyOf(left, count), Arrays.copyOf(ends, count));
  }

  /** Returns whether the other has the same holders with the same ends, in whatever order. */
  @Override
  public boolean equals(Object other) {
    return other instanceof SlotState slots && byHolder().equals(slots.byHolder());
  }

  @Override
  public int hashCode() {
    return byHolder().hashCode();
  }

  @Override
  public String toString() {
    return byHolder().toString();
  }
}
