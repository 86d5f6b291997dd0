// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.limits.BucketArithmetic;
import io.weir.limits.BucketLimit;
import io.weir.limits.BucketState;
import io.weir.limits.Refill;
import io.weir.sim.InvariantBroken.Invariant;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.Stamp;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Computes where each bucket should stand by the records alone: every recorded call is taken from
 * it at its time, whoever decided the call and whatever state the cache had.
 */
final class Convergence {
  /**
   * A charge made while a correction is applied may be placed slightly wrong in time, and times are
   * recorded in whole milliseconds (decision 0005).
   */
  private static final double TOLERANCE_TOKENS = 1.1;

  private final World world;
  private final TreeMap<String, History> histories = new TreeMap<>();

  private record Event(long atMillis, long epoch, long charged, long tokens, BucketLimit limit) {
    boolean isStamped() {
      return epoch > 0;
    }
  }

  private static final class History {
    final List<Event> events = new ArrayList<>();

    /** Returns the limit that was in force last. */
    BucketLimit limit() {
      return events.get(events.size() - 1).limit();
    }
  }

  Convergence(World world, List<LogLines.Line> lines) {
    this.world = world;
    Set<String> seen = new HashSet<>();
    for (LogLines.Line line : lines) {
      CallEvent call = line.call();
      boolean settles = call.settlement() != null;
      if (seen.add(line.position().toString())
          && (!settles || seen.add("settled " + Recount.nameOf(call)))) {
        call.charges().forEach(charge -> add(call, charge));
      }
    }
    Comparator<Event> order =
        Comparator.comparingLong(Event::atMillis)
            .thenComparingLong(Event::epoch)
            .thenComparingLong(Event::charged);
    histories.values().forEach(history -> history.events.sort(order));
  }

  private void add(CallEvent call, Charge charge) {
    BucketLimit limit = charge.limit();
    if (limit == null) {
      return;
    }
    History history = histories.computeIfAbsent(charge.bucket(), unseen -> new History());
    Stamp stamp = charge.stamp();
    long tokens =
        call.settlement() == null ? charge.cost() : charge.cost() > 0 ? call.quantity() : 0;
    history.events.add(
        new Event(
            call.happenedAtEpochMillis(),
            stamp == null ? 0 : stamp.epoch(),
            stamp == null ? 0 : stamp.charged(),
            tokens,
            limit));
  }

  /**
   * Compares the cache with the level by the records.
   *
   * @param healedMicros when the last disturbance was healed, by Redis' clock: a token bucket that
   *     was not full since then may still lack what a debt cap or a clock change has cut off
   */
  void check(long healedMicros) {
    for (Map.Entry<String, History> each : histories.entrySet()) {
      BucketLimit limit = each.getValue().limit();
      if (limit.refills()) {
        checkBucket(each.getKey(), each.getValue(), healedMicros);
      } else {
        checkPeriod(each.getKey(), limit, each.getValue());
      }
    }
  }

  private void checkPeriod(String bucket, BucketLimit limit, History history) {
    if (limit.isOverAt(world.redis().clock().epochMicros())) {
      return;
    }
    long used = history.events.stream().mapToLong(Event::tokens).sum();
    long truth = limit.capacityTokens() - used;
    long stamped = history.events.stream().filter(Event::isStamped).mapToLong(Event::tokens).sum();
    double hidden = (double) world.buckets().hiddenTokens(bucket, stamped);
    compare(bucket, (double) truth, hidden + unseenTokens(bucket, history), 0);
  }

  /**
   * Term: what a quota was charged in an epoch that no record shows is subtracted in addition to
   * the records, which may contain some of it without a stamp.
   */
  private double unseenTokens(String bucket, History history) {
    BucketState kept = world.redis().kept(bucket);
    if (kept == null) {
      return 0;
    }
    long life = kept.epoch();
    boolean isSeen = history.events.stream().anyMatch(event -> event.epoch() == life);
    return isSeen ? 0 : kept.chargedTokens();
  }

  private void checkBucket(String bucket, History history, long healedMicros) {
    BucketLimit limit = null;
    double interval = 0;
    double slowest = 0;
    double fullAt = 0;
    double chargedAt = 0;
    boolean wasFullSince = false;
    for (Event event : history.events) {
      double at = event.atMillis() * 1_000.0;
      BucketLimit now = event.limit();
      Refill refill = now.refill();
      if (refill != null && !now.equals(limit)) {
        double next = (double) refill.periodMicros() / refill.tokens();
        if (limit != null) {
          // an upper bound: what was missing at the charge before, plus all that the bucket holds,
          // since in between a correction may have kept it under a limit that held next to nothing
          double missing = Math.max(0, fullAt - chargedAt) / interval;
          fullAt = at + (missing + now.capacityTokens()) * next;
        }
        wasFullSince = false;
        limit = now;
        interval = next;
        slowest = Math.max(slowest, next);
      }
      chargedAt = at;
      wasFullSince |= at > healedMicros && fullAt < at;
      fullAt = event.tokens() < 0 ? fullAt : Math.max(fullAt, at);
      // term: a call without the cache is owed by the limit in force when its record arrives
      fullAt += event.tokens() * (event.isStamped() ? interval : slowest);
    }
    if (limit != null && (wasFullSince || fullAt <= healedMicros)) {
      double now = world.redis().clock().epochMicros();
      double missing = Math.max(0, fullAt - now) / interval;
      double below = TOLERANCE_TOKENS + keptBackTokens(bucket, history);
      compare(bucket, limit.capacityTokens() - missing, below, TOLERANCE_TOKENS);
    }
  }

  /**
   * Term: what was given up as never recorded and is recorded after all is taken back, though the
   * bucket may have refilled it meanwhile (seed 1017828); and what {@link
   * BucketWitness#keptBackTokens} says.
   */
  private double keptBackTokens(String bucket, History history) {
    long stamped = history.events.stream().filter(Event::isStamped).mapToLong(Event::tokens).sum();
    return (double) (world.tokensGivenUp(bucket) + world.buckets().keptBackTokens(bucket, stamped));
  }

  private void compare(String bucket, double truth, double below, double above) {
    double level = level(bucket);
    world.trace().note("standing", bucket, level, truth);
    if (level < truth - below || level > truth + above) {
      throw new InvariantBroken(
          Invariant.CONVERGENCE, bucket + " stands at " + level + ", by the records at " + truth);
    }
  }

  private double level(String bucket) {
    History history = histories.get(bucket);
    if (history == null) {
      throw new IllegalArgumentException("nobody called on " + bucket);
    }
    BucketArithmetic arithmetic = history.limit().arithmetic();
    return (double)
            arithmetic.levelUnits(
                arithmetic.refill(world.redis().kept(bucket), world.redis().clock().epochMicros()))
        / arithmetic.unitsPerToken();
  }
}
