// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * A node of two cores under calls that come whatever becomes of them (an open loop), in virtual
 * time. One core reads the connections first, since that is where calls are shed, and serves when
 * there is nothing to read; the other only serves. At most {@link #MAX_CONNECTIONS} callers wait at
 * once; others do not get through to the node.
 */
final class SimulatedNode {
  static final int MAX_CALLS_UNDER_WAY = 2_000;
  private static final int MAX_CONNECTIONS = 10_000;
  private static final int CORES = 2;

  /**
   * What a stretch of time brought.
   *
   * @param goodputShare calls served, of what the node could serve if it did nothing else
   * @param delayNanosP99 from arrival to the begin of service, of those served
   */
  record Stretch(double goodputShare, long delayNanosP99, long shed, long served) {}

  private final Random random;
  private final long readNanos;
  private final long serveNanos;
  private final QueueDelayShedder share;
  private final Admission admission;
  private final ArrayDeque<Long> unread = new ArrayDeque<>();
  private final ArrayDeque<long[]> admitted = new ArrayDeque<>();
  private final long[] coreFreeNanos = new long[CORES];
  private final boolean[] coreServes = new boolean[CORES];
  private final List<Long> delays = new ArrayList<>();
  private long now;
  private long shed;
  private long served;

  /**
   * A node at rest.
   *
   * @param readNanos cost of reading a call, and of shedding it
   * @param callNanos whole cost of a call that is served
   */
  SimulatedNode(long seed, long readNanos, long callNanos, long targetNanos) {
    this.random = new Random(seed);
    this.readNanos = readNanos;
    this.serveNanos = callNanos - readNanos;
    this.share = new QueueDelayShedder(targetNanos, 0);
    this.admission =
        new Admission(
            MAX_CALLS_UNDER_WAY, MAX_CALLS_UNDER_WAY, null, share, () -> now, random::nextDouble);
  }

  double capacityPerSecond() {
    return CORES * 1e9 / (readNanos + serveNanos);
  }

  double share() {
    return share.share(now);
  }

  /** Offers {@code load} times the capacity for some seconds. */
  Stretch offer(double load, double seconds) {
    double meanGapNanos = 1e9 / (load * capacityPerSecond());
    long begun = now;
    long end = now + (long) (seconds * 1e9);
    long nextArrival = now + gap(meanGapNanos);
    delays.clear();
    shed = 0;
    served = 0;
    while (true) {
      work();
      long next = nextArrival;
      for (long free : coreFreeNanos) {
        if (free > now) {
          next = Math.min(next, free);
        }
      }
      if (next >= end) {
        break;
      }
      now = next;
      if (now == nextArrival) {
        if (unread.size() + admission.underWay() < MAX_CONNECTIONS) {
          unread.add(now);
        }
        nextArrival = now + gap(meanGapNanos);
      }
    }
    now = end;
    double possible = capacityPerSecond() * (end - begun) / 1e9;
    delays.sort(null);
    long p99 = delays.isEmpty() ? 0 : delays.get((int) (delays.size() * 0.99));
    return new Stretch(served / possible, p99, shed, served);
  }

  private long gap(double meanNanos) {
    return Math.max(1, (long) (-meanNanos * Math.log(1 - random.nextDouble())));
  }

  /** Gives each core that is free its next work. */
  private void work() {
    for (int core = 0; core < CORES; core++) {
      if (coreFreeNanos[core] > now) {
        continue;
      }
      if (coreServes[core]) {
        coreServes[core] = false;
        admission.end(Admission.Kind.CALL_ON_THREAD, now);
      }
      if (core == 0 && !unread.isEmpty()) {
        long arrived = unread.remove();
        coreFreeNanos[core] = now + readNanos;
        if (admission.tryAdmit(Admission.Kind.CALL_ON_THREAD) == null) {
          admitted.add(new long[] {arrived, admission.queue()});
        } else {
          shed++;
        }
      } else if (!admitted.isEmpty()) {
        long[] call = admitted.remove();
        admission.begin(call[1]);
        delays.add(now - call[0]);
        served++;
        coreFreeNanos[core] = now + serveNanos;
        coreServes[core] = true;
      }
    }
  }
}
