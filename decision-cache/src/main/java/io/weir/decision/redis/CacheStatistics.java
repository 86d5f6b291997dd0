// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.weir.limits.check.Decision;
import java.util.concurrent.atomic.LongAdder;

/**
 * What a cache has done since it was started; counts only go up. Safe for threads.
 *
 * <p>Asked = allowed + denied + Σ undecided, once no call is under way.
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

  /** Calls of take and peek. */
  public long asked() {
    return asked.sum();
  }

  /** Calls that were allowed. */
  public long allowed() {
    return allowed.sum();
  }

  /** Calls that were denied. */
  public long denied() {
    return denied.sum();
  }

  /** Calls that were not decided, for this cause. */
  public long undecided(Decision.Cause cause) {
    return undecidedBy(cause).sum();
  }

  /** Script calls sent, second tries included. */
  public long scriptCalls() {
    return scriptCalls.sum();
  }

  /** Checks sent, second tries included; divided by script calls, the mean batch. */
  public long checksSent() {
    return checksSent.sum();
  }

  /**
   * Script calls by size, as pairs of upper bound (inclusive) and count, not cumulative; bounds are
   * the powers of two from 1 to 64.
   */
  public long[][] batchSizes() {
    long[][] sizes = new long[SIZE_CLASSES][];
    for (int i = 0; i < SIZE_CLASSES; i++) {
      sizes[i] = new long[] {1L << i, batchSizes[i].sum()};
    }
    return sizes;
  }

  /**
   * Checks that left the queue without being sent, since the server was silent or nobody waited for
   * them any more; they charged nothing.
   */
  public long checksNotSent() {
    return checksNotSent.sum();
  }

  /** Answers that came when nobody waited any more; an allowed one was charged all the same. */
  public long repliesLate() {
    return repliesLate.sum();
  }

  /** Times the script was loaded because the server did not know it. */
  public long scriptLoads() {
    return scriptLoads.sum();
  }

  /** Connections made. */
  public long connections() {
    return connections.sum();
  }

  /** Connections closed because the server did not answer for the stall timeout. */
  public long stalls() {
    return stalls.sum();
  }

  /** Exceptions that nothing expected, in the threads that must live; these went on. */
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
