// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.limits.BucketArithmetic;
import io.weir.limits.BucketLimit;
import io.weir.limits.BucketState;
import io.weir.limits.Refill;
import io.weir.limits.SlidingWindowLimit;
import io.weir.sim.InvariantBroken.Invariant;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.Stamp;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Computes the expected level of each bucket from the records alone. Each recorded call takes its
 * tokens at its time. The level does not depend on what decided the calls, or on the state of the
 * cache. Where a bucket may differ from this level, a comment begins with "permitted difference".
 */
final class Convergence {
  /**
   * Tolerance of the comparison. A correction may assume a slightly wrong time for a charge, and
   * records have times in whole milliseconds (decision 0005).
   */
  private static final double TOLERANCE_TOKENS = 1.1;

  /**
   * Time for which the aggregator stores how far a bucket was from full: the duration of two gap
   * checks. Each check waits until the watermark has passed the newest stamp.
   */
  private static final long LOOKBACK_MILLIS = 3_500;

  private final World world;
  private final TreeMap<String, History> histories = new TreeMap<>();

  private record Event(long atMillis, long epoch, long charged, long tokens, BucketLimit limit) {
    static final Comparator<Event> ORDER =
        Comparator.comparingLong(Event::atMillis)
            .thenComparingLong(Event::epoch)
            .thenComparingLong(Event::charged);

    boolean isStamped() {
      return epoch > 0;
    }

    double atMicros() {
      return atMillis * 1_000.0;
    }

    /** Returns the identity of a stamped charge among the charges of its bucket. */
    String name() {
      return epoch + " " + charged + " " + tokens;
    }
  }

  private static final class History {
    final List<Event> events = new ArrayList<>();
    boolean isSettled;

    /** Time of the newest call so far that a node decided without the cache. */
    private long withoutCacheMillis;

    /**
     * Permitted difference: tokens of charges whose records come after a newer call that a node
     * decided without the cache. The refill between the charge and this call is not always known,
     * so a correction may take all these tokens.
     */
    long lateTokens;

    /** Adds an event. The caller adds events in the order of the records. */
    void add(Event event) {
      events.add(event);
      if (event.atMillis() < withoutCacheMillis) {
        lateTokens += Math.max(0, event.tokens());
      }
      if (!event.isStamped()) {
        withoutCacheMillis = Math.max(withoutCacheMillis, event.atMillis());
      }
    }

    /** Returns the last limit. */
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
    histories.values().forEach(history -> history.events.sort(Event.ORDER));
  }

  private void add(CallEvent call, Charge charge) {
    BucketLimit limit = charge.limit();
    if (limit == null) {
      return;
    }
    History history = histories.computeIfAbsent(charge.bucket(), unseen -> new History());
    boolean settles = call.settlement() != null;
    history.isSettled |= settles;
    Stamp stamp = charge.stamp();
    long tokens = settles ? (charge.cost() > 0 ? call.quantity() : 0) : charge.cost();
    // the bucket pays an additional cost when the settlement is known
    boolean isDebit = settles && tokens > 0;
    history.add(
        new Event(
            isDebit ? call.decidedAtEpochMillis() : call.happenedAtEpochMillis(),
            stamp == null ? 0 : stamp.epoch(),
            stamp == null ? 0 : stamp.charged(),
            tokens,
            limit));
  }

  /**
   * Compares the buckets in the cache with the levels that follow from the records.
   *
   * @param healedMicros end of the last fault by Redis' clock. After a debt cap or a clock step, a
   *     token bucket may lack tokens until it has once been full
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
    long now = world.redis().clock().epochMicros();
    if (limit.isOverAt(now) || hasNoMoreRecords(limit, now)) {
      return;
    }
    long used = history.events.stream().mapToLong(Event::tokens).sum();
    long truth = limit.capacityTokens() - used;
    long stamped = history.events.stream().filter(Event::isStamped).mapToLong(Event::tokens).sum();
    double hidden = (double) world.buckets().hiddenTokens(bucket, stamped);
    compare(bucket, (double) truth, hidden + unseenTokens(bucket, history), 0);
  }

  /**
   * Permitted difference: a sub-window that has ended still counts, but gets no more stamps.
   * Therefore the records do not show its last unrecorded charges, or its losses in an undetected
   * failover.
   */
  static boolean hasNoMoreRecords(BucketLimit limit, long nowEpochMicros) {
    return limit instanceof SlidingWindowLimit sliding
        && sliding.subWindowEndsAtMicros() <= nowEpochMicros;
  }

  /**
   * Permitted difference: if no record has the bucket epoch of a quota, the aggregator subtracts
   * the charges of this epoch in addition to the records. Some records without a stamp may describe
   * the same charges.
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
    Level level = new Level();
    boolean wasFullSince = false;
    for (Event event : history.events) {
      wasFullSince = level.changesLimit(event) ? false : wasFullSince;
      boolean wasFull = level.take(event);
      wasFullSince |= wasFull && event.atMicros() > healedMicros;
    }
    if (wasFullSince || level.fullAtMicros <= healedMicros || isPlain(bucket, history)) {
      double truth = level.tokensAt((double) world.redis().clock().epochMicros());
      double below =
          TOLERANCE_TOKENS
              + (double) world.tokensGivenUp(bucket)
              + (double) history.lateTokens
              + (double) unshownTokens(bucket, history)
              + keptBackTokens(bucket, history);
      compare(bucket, truth, below, TOLERANCE_TOKENS);
    }
  }

  /**
   * Permitted difference: unused tokens of the last leases from a bucket. The records show the
   * charge of a lease only with the next call of the bucket.
   */
  private long unshownTokens(String bucket, History history) {
    Comparator<long[]> order = Arrays::compare;
    long[] newest = {0, 0};
    for (Event event : history.events) {
      long[] shown = {event.epoch(), event.charged()};
      newest = order.compare(shown, newest) > 0 ? shown : newest;
    }
    long tokens = 0;
    for (BucketWitness.CacheCharge charge : world.buckets().charges(bucket)) {
      if (order.compare(new long[] {charge.epoch(), charge.charged()}, newest) > 0) {
        tokens += charge.tokens();
      }
    }
    return tokens;
  }

  /** Returns whether a bucket has been free of faults with a lasting effect. */
  private boolean isPlain(String bucket, History history) {
    return !history.isSettled
        && !world.redis().wasClockSet()
        && !world.buckets().hasGoneBack()
        && !world.buckets().wasCutOff(bucket)
        && history.events.stream().map(Event::limit).distinct().count() == 1;
  }

  /** The level of a token bucket, stored as the time at which the bucket is full. */
  private static final class Level {
    private @Nullable BucketLimit limit;
    private double interval;
    private double slowest;
    private double fullAtMicros;
    private double chargedAtMicros;

    /** Returns whether the limit of an event differs from the limit of the previous event. */
    boolean changesLimit(Event event) {
      return !event.limit().equals(limit) && event.limit().refills();
    }

    /** Takes the tokens of an event. Returns whether the bucket was full before the event. */
    boolean take(Event event) {
      double at = event.atMicros();
      Refill refill = event.limit().refill();
      if (refill != null && changesLimit(event)) {
        follow(event.limit(), refill, at);
      }
      chargedAtMicros = at;
      boolean wasFull = fullAtMicros < at;
      fullAtMicros = event.tokens() < 0 ? fullAtMicros : Math.max(fullAtMicros, at);
      // permitted difference: a call that was decided without the cache is charged with the limit
      // that is in force when its record arrives
      fullAtMicros += event.tokens() * (event.isStamped() ? interval : slowest);
      return wasFull;
    }

    private void follow(BucketLimit changed, Refill refill, double at) {
      double next = (double) refill.periodMicros() / refill.tokens();
      if (limit != null) {
        // an upper bound: the tokens missing at the previous charge, plus all tokens of the bucket,
        // because a correction may have applied a limit with almost no tokens in between
        double missing = Math.max(0, fullAtMicros - chargedAtMicros) / interval;
        fullAtMicros = at + (missing + changed.capacityTokens()) * next;
      }
      limit = changed;
      interval = next;
      slowest = Math.max(slowest, next);
    }

    double missingAt(double nowMicros) {
      return limit == null ? 0 : Math.max(0, fullAtMicros - nowMicros) / interval;
    }

    double tokensAt(double nowMicros) {
      return limit == null ? 0 : limit.capacityTokens() - missingAt(nowMicros);
    }
  }

  /**
   * Permitted difference: tokens that the cache has charged without a record since the bucket was
   * last full. The bucket counts as full at a charge if it was full both in the cache and according
   * to all charges, recorded or not. A correction returns an unrecorded token only if the bucket
   * has certainly not refilled it. The counter gives only a range of times for an unrecorded
   * charge. So a correction may assume that this charge came after a call that a node decided
   * without the cache. Then the bucket is full too late (seed 110002384).
   */
  private double keptBackTokens(String bucket, History history) {
    Map<String, Integer> recorded = new TreeMap<>();
    history.events.stream()
        .filter(Event::isStamped)
        .filter(event -> event.tokens() > 0)
        .forEach(event -> recorded.merge(event.name(), 1, Integer::sum));
    List<Event> all = new ArrayList<>(history.events);
    Set<Event> unrecorded = Collections.newSetFromMap(new IdentityHashMap<>());
    Set<String> foundFull = new HashSet<>();
    for (BucketWitness.CacheCharge charge : world.buckets().charges(bucket)) {
      Event event =
          new Event(
              charge.atMicros() / 1_000,
              charge.epoch(),
              charge.charged(),
              charge.tokens(),
              charge.limit());
      if (charge.foundFull()) {
        foundFull.add(event.name());
      }
      if (recorded.merge(event.name(), -1, Integer::sum) < 0) {
        unrecorded.add(event);
        all.add(event);
      }
    }
    all.sort(Event.ORDER);
    Level level = new Level();
    Level recordedLevel = new Level();
    TreeMap<Long, Double> distances = new TreeMap<>();
    double tokens = 0;
    double raisedTokens = 0;
    long capacity = Long.MAX_VALUE;
    long sinceMillis = Long.MAX_VALUE;
    for (Event event : all) {
      boolean wasFull = level.take(event);
      // only a charge of the cache shows in the records that the bucket was full
      if (wasFull && foundFull.contains(event.name()) && !unrecorded.contains(event)) {
        tokens = 0;
        raisedTokens = 0;
        sinceMillis = Long.MAX_VALUE;
      }
      // by the records, the bucket is full when its limit is raised, and so begins full; in the
      // cache, an unrecorded charge was missing, so the bucket kept only its remaining tokens
      // (seeds 14882, 20022496 and 20033633)
      raisedTokens += (double) Math.max(0, event.limit().capacityTokens() - capacity);
      capacity = event.limit().capacityTokens();
      if (unrecorded.contains(event)) {
        tokens += event.tokens();
        sinceMillis = Math.min(sinceMillis, event.atMillis());
      } else {
        distances.merge(event.atMillis(), recordedLevel.missingAt(event.atMicros()), Math::min);
        recordedLevel.take(event);
      }
    }
    if (tokens == 0) {
      return 0;
    }
    if (raisedTokens > 0 || !isPlain(bucket, history)) {
      return tokens + raisedTokens;
    }
    double least =
        distances.tailMap(rememberedSince(bucket, sinceMillis)).values().stream()
            .mapToDouble(Double::doubleValue)
            .min()
            .orElse(0);
    return Math.max(0, tokens - least);
  }

  /**
   * Returns the time since which the aggregator stores how far the bucket was from full. The least
   * stored distance limits the credit of a gap.
   */
  private long rememberedSince(String bucket, long chargedMillis) {
    long known = Math.min(chargedMillis, world.buckets().watermarkAt(bucket, chargedMillis));
    return known - LOOKBACK_MILLIS;
  }

  private void compare(String bucket, double truth, double below, double above) {
    double level = level(bucket);
    world.trace().note("standing", bucket, level, truth);
    if (level < truth - below || level > truth + above) {
      throw new InvariantBroken(
          Invariant.CONVERGENCE, bucket + " is at " + level + ", but the records give " + truth);
    }
  }

  private double level(String bucket) {
    History history = histories.get(bucket);
    if (history == null) {
      throw new IllegalArgumentException("no call has the bucket " + bucket);
    }
    BucketArithmetic arithmetic = history.limit().arithmetic();
    return (double)
            arithmetic.levelUnits(
                arithmetic.refill(world.redis().kept(bucket), world.redis().clock().epochMicros()))
        / arithmetic.unitsPerToken();
  }
}
