// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import io.weir.ingest.gate.CallLog;
import io.weir.ingest.settle.Settler;
import io.weir.limits.policy.CallFacts;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.UsagePosition;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * The newest calls of this node whose hits may be given back, by descriptor. A call is removed when
 * any of its hits are given back, because a call is settled only once. So no call is used twice.
 * Bounded in number, bytes and time: the oldest calls are removed first. Thread-safe.
 */
final class RecentCalls {
  /**
   * Maximum number of calls of one descriptor; the settlements of one request are recorded
   * together.
   */
  static final int MAX_CALLS_PER_DESCRIPTOR = CallLog.MAX_CALLS;

  /** Maximum number of calls of all descriptors. */
  static final int MAX_CALLS = 100_000;

  /** Maximum estimated number of bytes of all calls. */
  static final long MAX_BYTES = 64L << 20;

  /** How long a call is kept. */
  static final long MAX_AGE_NANOS = TimeUnit.HOURS.toNanos(1);

  /** Estimated bytes of a call without its texts and charges. */
  private static final int BYTES_PER_CALL = 700;

  /** Estimated bytes of a charge without its texts. */
  private static final int BYTES_PER_CHARGE = 250;

  private static final int BYTES_OF_A_CHARACTER = 2;

  private final int maxCalls;
  private final long maxBytes;

  /** All calls, oldest first, by consecutive numbers. */
  private final NavigableMap<Long, Kept> all = new TreeMap<>();

  private final Map<Owner, NavigableMap<Long, Kept>> byOwner = new HashMap<>();
  private long lastNumber;
  private long bytes;

  /** A descriptor, identified by the call that represents it. */
  record Owner(String client, String endpoint, String meter) {
    static Owner of(CallFacts facts) {
      return new Owner(facts.client(), facts.endpoint(), facts.meter());
    }

    private static Owner of(CallEvent call) {
      return new Owner(call.client(), call.endpoint(), call.meter());
    }
  }

  /** A stored call. */
  private record Kept(Owner owner, CallEvent call, UsagePosition position, long sinceNanos) {
    long bytes() {
      long characters = 0;
      for (Charge charge : call.charges()) {
        characters += charge.bucket().length();
      }
      characters += call.id().length() + call.client().length() + call.endpoint().length();
      return BYTES_PER_CALL
          + (long) BYTES_PER_CHARGE * call.charges().size()
          + BYTES_OF_A_CHARACTER * characters;
    }

    Settler.KnownCall at(long actualCost) {
      return new Settler.KnownCall(call, position, actualCost);
    }
  }

  /**
   * The calls found to give hits back.
   *
   * @param calls the calls with their new costs for the settlement, newest first; at most {@value
   *     CallLog#MAX_CALLS}
   * @param hits number of hits that these settlements give back
   */
  record Found(List<Settler.KnownCall> calls, long hits) {}

  RecentCalls() {
    this(MAX_CALLS, MAX_BYTES);
  }

  /** Creates a store with other bounds. */
  RecentCalls(int maxCalls, long maxBytes) {
    this.maxCalls = maxCalls;
    this.maxBytes = maxBytes;
  }

  /**
   * Stores a call.
   *
   * @param call an allowed call, as recorded
   * @param nowNanos the current {@link System#nanoTime}
   */
  synchronized void add(CallEvent call, UsagePosition position, long nowNanos) {
    forget(nowNanos);
    Kept kept = new Kept(Owner.of(call), call, position, nowNanos);
    long number = ++lastNumber;
    NavigableMap<Long, Kept> ofOwner =
        byOwner.computeIfAbsent(kept.owner, first -> new TreeMap<>());
    ofOwner.put(number, kept);
    all.put(number, kept);
    bytes += kept.bytes();
    if (ofOwner.size() > MAX_CALLS_PER_DESCRIPTOR) {
      remove(ofOwner.firstKey());
    }
    while (all.size() > maxCalls || bytes > maxBytes) {
      remove(all.firstKey());
    }
  }

  /**
   * Removes calls of a descriptor that make up a number of hits. From the newest to the oldest,
   * each call is given back completely if it costs no more than the remaining hits. If hits then
   * remain, every other call costs more. The cheapest of these, and the newest of equal ones, is
   * given back in part. So at most one call is given back in part, and it cannot give back its rest
   * later.
   *
   * @param hits at least 1
   * @param nowNanos the current {@link System#nanoTime}
   */
  synchronized Found take(Owner owner, long hits, long nowNanos) {
    forget(nowNanos);
    List<Settler.KnownCall> calls = new ArrayList<>();
    long left = hits;
    NavigableMap<Long, Kept> ofOwner = byOwner.get(owner);
    if (ofOwner == null) {
      return new Found(calls, 0);
    }
    List<Long> taken = new ArrayList<>();
    Iterator<Map.Entry<Long, Kept>> newestFirst = ofOwner.descendingMap().entrySet().iterator();
    Map.Entry<Long, Kept> cheapest = null;
    while (left > 0 && newestFirst.hasNext()) {
      Map.Entry<Long, Kept> each = newestFirst.next();
      long cost = each.getValue().call.cost();
      if (cost <= left) {
        taken.add(each.getKey());
        calls.add(each.getValue().at(0));
        left -= cost;
      } else if (cheapest == null || cost < cheapest.getValue().call.cost()) {
        cheapest = each;
      }
    }
    if (left > 0 && cheapest != null) {
      taken.add(cheapest.getKey());
      calls.add(cheapest.getValue().at(cheapest.getValue().call.cost() - left));
      left = 0;
    }
    taken.forEach(this::remove);
    return new Found(calls, hits - left);
  }

  /**
   * Returns the number of stored calls, and removes calls that are too old. So a node that gets no
   * more requests does not keep the last calls.
   *
   * @param nowNanos the current {@link System#nanoTime}
   */
  synchronized int size(long nowNanos) {
    forget(nowNanos);
    return all.size();
  }

  private void forget(long nowNanos) {
    Map.Entry<Long, Kept> oldest = all.firstEntry();
    while (oldest != null && nowNanos - oldest.getValue().sinceNanos > MAX_AGE_NANOS) {
      remove(oldest.getKey());
      oldest = all.firstEntry();
    }
  }

  private void remove(Long number) {
    Kept kept = all.remove(number);
    if (kept == null) {
      throw new IllegalStateException("call " + number + " is not stored");
    }
    bytes -= kept.bytes();
    NavigableMap<Long, Kept> ofOwner = byOwner.get(kept.owner);
    if (ofOwner != null) {
      ofOwner.remove(number);
      if (ofOwner.isEmpty()) {
        byOwner.remove(kept.owner);
      }
    }
  }
}
