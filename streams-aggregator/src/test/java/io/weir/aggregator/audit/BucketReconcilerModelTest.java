// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.aggregator.count.CountSettings;
import io.weir.aggregator.count.Memory;
import io.weir.limits.BucketLimit;
import io.weir.limits.QuotaLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.correction.Correction;
import io.weir.testing.SuiteForm;
import io.weir.topics.calls.CallBatchWriter;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.PartitionAccuracy;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/**
 * Random histories of two nodes, one cache and one partition under virtual time, against a slow
 * obvious version: the true bucket, which every recorded call was taken from at its time.
 */
final class BucketReconcilerModelTest {
  private static final int SEEDS = SuiteForm.isFull() ? 150 : 15;

  /** Charges made while a correction is applied may be placed in time a little wrong. */
  private static final double ONE_TOKEN = 1.1;

  /** No call is in flight longer than a node stands still and a batch travels. */
  private static final long MAX_WAY_MILLIS = 2_500;

  private static final long T = 1_700_000_000_000L;
  private static final BucketLimit SLOW = new TokenBucketLimit(40, 2, 1_000_000);
  private static final BucketLimit FAST = new TokenBucketLimit(10, 50, 1_000_000);
  private static final BucketLimit QUOTA = new QuotaLimit(500, (T + 3_600_000) * 1_000);

  private enum Disturbance {
    FLUSH,
    FLUSH_UNANNOUNCED,
    GO_BACK,
    PHANTOM,
    OUTAGE,
    STOPPED_NODE,
    SETTLE
  }

  @Test
  void undisturbedLoad_publishesNothing_andJudgesEveryDecisionRight() {
    for (long seed = 1; seed <= SEEDS; seed++) {
      History history = new History(seed);
      history.run(20_000, List.of());
      history.settle();

      assertEquals(List.of(), history.memory.corrections, "seed " + seed);
      PartitionAccuracy accuracy = history.accuracy();
      assertEquals(3, accuracy.policies().size(), "seed " + seed);
      accuracy
          .policies()
          .forEach(
              (policy, figures) -> {
                assertTrue(figures.decided() > 0);
                assertEquals(0, figures.wronglyAdmitted() + figures.wronglyDenied(), policy);
                assertEquals(0, figures.driftNowTokens(), policy);
              });
    }
  }

  @Test
  void disturbedLoad_cacheReturnsToTheTruth() {
    for (Disturbance disturbance : Disturbance.values()) {
      for (long seed = 1; seed <= SEEDS; seed++) {
        check(seed, List.of(disturbance));
      }
    }
  }

  @Test
  void manyDisturbances_cacheReturnsToTheTruth() {
    for (long seed = 1; seed <= SEEDS; seed++) {
      check(seed, List.of(Disturbance.values()));
    }
  }

  private static void check(long seed, List<Disturbance> disturbances) {
    History history = new History(seed);
    history.run(15_000, disturbances);
    history.settle();
    history.assertCacheIsTrue("seed " + seed + " " + disturbances);
  }

  /** A node: its calls not yet sealed, and its batches in flight. */
  private static final class Node {
    final String name;
    final long epoch;
    final List<CallEvent> calls = new ArrayList<>();
    final Deque<Batch> inFlight = new ArrayDeque<>();
    long sequence;
    long lines;
    boolean stopped;

    Node(String name, long epoch) {
      this.name = name;
      this.epoch = epoch;
    }
  }

  @SuppressWarnings("ArrayRecordComponent") // never compared, never changed
  private record Batch(long arrivesAt, BatchHeader header, byte[] value) {}

  private record Late(long at, Correction correction) {}

  private static final class History {
    final Memory memory = new Memory(new CountSettings(10_000, 2_000, 600_000, 3_600_000));
    private final Random random;
    private final SimulatedCache cache = new SimulatedCache();
    private final Map<String, BucketLimit> limits =
        new TreeMap<>(
            Map.of(
                "w1:{4:acme}:4:slow", SLOW,
                "w1:{4:acme}:4:fast", FAST,
                "w1:{4:acme}:5:quota@1700003600", QUOTA));
    private final List<Node> nodes = List.of(new Node("n1", T - 10), new Node("n2", T - 9));
    private final List<CallEvent> recorded = new ArrayList<>();
    private final List<Late> corrections = new ArrayList<>();
    private long now = T;
    private long calls;
    private final Set<String> settled = new HashSet<>();
    private int taken;
    private boolean cacheIsAway;

    History(long seed) {
      this.random = new Random(seed);
    }

    void run(long millis, List<Disturbance> disturbances) {
      Map<Long, Disturbance> at = new HashMap<>();
      for (Disturbance disturbance : disturbances) {
        at.put(T + 2_000 + random.nextInt((int) millis - 6_000), disturbance);
      }
      for (long end = now + millis; now < end; now++) {
        Disturbance disturbance = at.get(now);
        if (disturbance != null) {
          disturb(disturbance);
        }
        step(random.nextInt(100) < 4);
      }
    }

    private void disturb(Disturbance disturbance) {
      switch (disturbance) {
        case FLUSH -> {
          cache.flush();
          announceLoss();
        }
        case FLUSH_UNANNOUNCED -> cache.flush();
        case GO_BACK -> {
          var snapshot = cache.snapshot();
          for (long end = now + 1_500; now < end; now++) {
            step(random.nextInt(100) < 4);
          }
          cache.goBackTo(snapshot);
          announceLoss();
        }
        case PHANTOM ->
            limits.forEach(
                (key, limit) -> cache.check(key, limit, 1 + random.nextInt(3), now * 1_000));
        case OUTAGE -> {
          cacheIsAway = true;
          for (long end = now + 1_500; now < end; now++) {
            step(random.nextInt(100) < 4);
          }
          cacheIsAway = false;
        }
        case STOPPED_NODE -> {
          nodes.get(0).stopped = true;
          for (long end = now + 1_500; now < end; now++) {
            step(random.nextInt(100) < 4);
          }
          nodes.get(0).stopped = false;
        }
        case SETTLE -> {
          for (long end = now + 1_500; now < end; now++) {
            if (now % 50 == 0) {
              settleOne();
            }
            step(random.nextInt(100) < 4);
          }
        }
      }
    }

    /** Settles a call that must have arrived by now, as a node settles only what it has found. */
    private void settleOne() {
      List<CallEvent> settleable =
          recorded.stream()
              .filter(call -> call.settlement() == null)
              .filter(call -> call.decidedAtEpochMillis() < now - MAX_WAY_MILLIS)
              .filter(call -> !settled.contains(call.id()))
              .toList();
      if (settleable.isEmpty()) {
        return;
      }
      CallEvent call = settleable.get(random.nextInt(settleable.size()));
      settled.add(call.id());
      CallEvent settlement = call.settledAt(new CallSettlement(random.nextInt(6), now));
      nodes.get(random.nextInt(nodes.size())).calls.add(settlement);
      recorded.add(settlement);
    }

    private void announceLoss() {
      // the message comes a little later, as a node has to find the loss first
      for (long end = now + random.nextInt(100); now < end; now++) {
        step(random.nextInt(100) < 4);
      }
      memory.takeCacheLoss("g" + now, now);
    }

    private void step(boolean withCall) {
      if (withCall) {
        call(nodes.get(random.nextInt(nodes.size())));
      }
      for (Node node : nodes) {
        if (!node.stopped) {
          seal(node);
          deliver(node);
        }
      }
      if (now % 50 == 0) {
        memory.tick();
        healCache();
      }
      if (random.nextInt(5_000) == 0) {
        memory.restart();
      }
    }

    private void call(Node node) {
      long cost = random.nextInt(1, 3);
      List<Charge> charges = new ArrayList<>();
      boolean allowed = true;
      for (var bucket : limits.entrySet()) {
        Charge charge =
            cacheIsAway
                ? new Charge(bucket.getKey(), cost, bucket.getValue(), null)
                : cache.check(bucket.getKey(), bucket.getValue(), cost, now * 1_000);
        if (charge.cost() > 0 || charge.stamp() != null) {
          charges.add(charge);
        }
      }
      CallEvent event =
          new CallEvent(
              "c" + calls++,
              false,
              "acme",
              "-",
              "calls",
              cost,
              allowed,
              cacheIsAway ? DecidedBy.FAIL_OPEN : DecidedBy.CACHE,
              null,
              1,
              now,
              null,
              charges);
      node.calls.add(event);
      recorded.add(event);
    }

    private void seal(Node node) {
      boolean heartbeat = node.calls.isEmpty() && now % 500 == 0;
      if (!heartbeat && (node.calls.isEmpty() || random.nextInt(20) > 0)) {
        return;
      }
      byte[] value = CallBatchWriter.encode(node.calls);
      if (!heartbeat) {
        node.sequence++;
      }
      BatchHeader header =
          new BatchHeader(
              node.name, node.epoch, node.sequence, node.calls.size(), now, node.lines, false);
      node.lines += node.calls.size();
      node.calls.clear();
      Batch last = node.inFlight.peekLast();
      long arrives = Math.max(last == null ? 0 : last.arrivesAt, now + random.nextInt(60));
      node.inFlight.add(new Batch(arrives, header, value));
    }

    private void deliver(Node node) {
      for (Batch next = node.inFlight.peek();
          next != null && next.arrivesAt <= now;
          next = node.inFlight.peek()) {
        memory.take(next.header, next.value, now);
        node.inFlight.remove();
      }
    }

    private void healCache() {
      for (; taken < memory.corrections.size(); taken++) {
        Correction correction = memory.corrections.get(taken);
        corrections.add(new Late(now + random.nextInt(150), correction));
        if (random.nextInt(3) == 0) {
          corrections.add(new Late(now + random.nextInt(5_000), correction)); // delivered again
        }
      }
      if (cacheIsAway) {
        return;
      }
      corrections.removeIf(
          late -> {
            boolean due = late.at <= now;
            if (due) {
              cache.apply(late.correction, now * 1_000);
            }
            return due;
          });
    }

    /** A few more calls, so that every bucket was used, and everything arrives. */
    void settle() {
      for (long end = now + 6_000; now < end; now++) {
        step(random.nextInt(1_000) < 8);
      }
      for (long end = now + 8_000; now < end; now++) {
        step(false);
      }
    }

    PartitionAccuracy accuracy() {
      PartitionAccuracy newest = memory.accuracy;
      if (newest == null) {
        throw new AssertionError("no accuracy was published");
      }
      return newest;
    }

    void assertCacheIsTrue(String where) {
      limits.forEach(
          (key, limit) -> {
            double missing = cache.missing(key, limit, now * 1_000);
            double truth = trulyMissing(key, limit);
            assertEquals(
                truth, missing, limit instanceof QuotaLimit ? 0 : ONE_TOKEN, where + " " + key);
            String before = cache.state(key);
            memory.corrections.forEach(correction -> cache.apply(correction, now * 1_000));
            assertEquals(before, cache.state(key), where + " replay " + key);
          });
    }

    private double trulyMissing(String key, BucketLimit limit) {
      double interval = SimulatedCache.interval(limit);
      double fullAt = 0;
      long used = 0;
      for (CallEvent call : recorded) {
        for (Charge charge : call.charges()) {
          if (charge.bucket().equals(key) && call.settlement() != null) {
            boolean wasCharged = charge.cost() > 0;
            fullAt += wasCharged ? call.quantity() * interval : 0;
            used += wasCharged ? call.quantity() : 0;
          } else if (charge.bucket().equals(key)) {
            fullAt =
                Math.max(fullAt, call.decidedAtEpochMillis() * 1_000.0) + charge.cost() * interval;
            used += charge.cost();
          }
        }
      }
      return limit instanceof QuotaLimit ? used : Math.max(0, fullAt - now * 1_000.0) / interval;
    }
  }
}
