// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.weir.limits.check.Decision;
import java.util.concurrent.atomic.LongAdder;

/**
 * Counters of a cache since it was started; they only increase. Thread-safe.
 *
 * <p>Asked = allowed + denied + Σ undecided, once no call is in flight.
 */
public final class CacheStatistics {
  /** Classes of batch sizes: 1, 2, 3–4, 5–8, … up to 33–64. */
  private static final int SIZE_CLASSES = 7;

  private final LongAdder asked = new LongAdder();
  private final LongAdder allowed = new LongAdder();
  private final LongAdder denied = new LongAdder();
  private final LongAdder timeout = new LongAdder();
  private final LongAdder unavailable = new LongAdder();
  private final LongAdder rejected = new LongAdder();
  private final LongAdder corrupt = new LongAdder();
  private final LongAdder cold = new LongAdder();
  private final LongAdder scriptCalls = new LongAdder();
  private final LongAdder checksSent = new LongAdder();
  private final LongAdder[] batchSizes = adders(SIZE_CLASSES);
  private final LongAdder checksNotSent = new LongAdder();
  private final LongAdder repliesLate = new LongAdder();
  private final LongAdder scriptLoads = new LongAdder();
  private final LongAdder connections = new LongAdder();
  private final LongAdder stalls = new LongAdder();
  private final Faults faults = new Faults();

  CacheStatistics() {}

  private static LongAdder[] adders(int count) {
    LongAdder[] adders = new LongAdder[count];
    for (int i = 0; i < count; i++) {
      adders[i] = new LongAdder();
    }
    return adders;
  }

  /** Returns the number of calls of take and peek. */
  public long asked() {
    return asked.sum();
  }

  /** Returns the number of calls that were allowed. */
  public long allowed() {
    return allowed.sum();
  }

  /** Returns the number of calls that were denied. */
  public long denied() {
    return denied.sum();
  }

  /** Returns the number of calls that were undecided for the given cause. */
  public long undecided(Decision.Cause cause) {
    return undecidedBy(cause).sum();
  }

  /** Returns the number of script calls sent, including second attempts. */
  public long scriptCalls() {
    return scriptCalls.sum();
  }

  /**
   * Returns the number of checks sent, including second attempts; divided by the number of script
   * calls, it is the mean batch size.
   */
  public long checksSent() {
    return checksSent.sum();
  }

  /**
   * Returns the script calls by size, as pairs of upper bound (inclusive) and count, not
   * cumulative. Bounds are the powers of two from 1 to 64.
   */
  public long[][] batchSizes() {
    long[][] sizes = new long[SIZE_CLASSES][];
    for (int i = 0; i < SIZE_CLASSES; i++) {
      sizes[i] = new long[] {1L << i, batchSizes[i].sum()};
    }
    return sizes;
  }

  /**
   * Returns the number of checks that left the queue without being sent, because the server was
   * silent or nobody waited for them any more; they charged nothing.
   */
  public long checksNotSent() {
    return checksNotSent.sum();
  }

  /**
   * Returns the number of replies that arrived when nobody waited any more; an allowed call was
   * charged all the same.
   */
  public long repliesLate() {
    return repliesLate.sum();
  }

  /** Returns how often the script was loaded because the server did not have it. */
  public long scriptLoads() {
    return scriptLoads.sum();
  }

  /** Returns the number of connections made. */
  public long connections() {
    return connections.sum();
  }

  /**
   * Returns the number of connections closed because the server did not answer within the stall
   * timeout.
   */
  public long stalls() {
    return stalls.sum();
  }

  /**
   * Returns the number of unexpected exceptions in threads that must not end; these threads
   * continued.
   */
  public long faults() {
    return faults.count();
  }

  Faults faultsOf() {
    return faults;
  }

  Decision count(Decision decision) {
    asked.increment();
    if (decision instanceof Decision.Allowed) {
      allowed.increment();
    } else if (decision instanceof Decision.Denied) {
      denied.increment();
    } else if (decision instanceof Decision.Undecided none) {
      undecidedBy(none.cause()).increment();
    }
    return decision;
  }

  private LongAdder undecidedBy(Decision.Cause cause) {
    return switch (cause) {
      case TIMEOUT -> timeout;
      case UNAVAILABLE -> unavailable;
      case REJECTED -> rejected;
      case CORRUPT -> corrupt;
      case COLD -> cold;
    };
  }

  void countCall(int checks) {
    scriptCalls.increment();
    checksSent.add(checks);
    batchSizes[Integer.SIZE - Integer.numberOfLeadingZeros(checks - 1)].increment();
  }

  void countNotSent(int checks) {
    checksNotSent.add(checks);
  }

  void countLate() {
    repliesLate.increment();
  }

  void countScriptLoad() {
    scriptLoads.increment();
  }

  void countConnection() {
    connections.increment();
  }

  void countStall() {
    stalls.increment();
  }
}
