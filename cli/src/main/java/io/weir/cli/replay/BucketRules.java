// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import io.weir.cli.records.Rate;

/**
 * The rules of a bucket, as bounds on the content of a record after another record. The times of
 * calls are known to a millisecond, so a rule must hold at some moment of this millisecond. Not
 * thread-safe.
 */
/*
 * The token bucket is the generic cell rate algorithm in its virtual-scheduling form (ITU-T I.371).
 * E is the exact time at which the bucket is full, in units of time times units per tick. A charge
 * of c units at the time t sets E' = max(E, r·t) + c. The bucket had enough tokens if
 * E' − r·t ≤ capacity. E is r·fullAt − slack. With ticks longer than 1 µs the bucket gains whole
 * ticks counted from its last charge. A charge of a bucket that lacks less than a tick drops the
 * current tick (decision 0002), so such charges are judged to one tick.
 */
final class BucketRules {
  private static final long MICROS_PER_MILLI = 1_000;

  /**
   * The longest time to full that records have, 2^52 µs. Longer times are truncated to this value.
   */
  private static final long MAX_WAIT_MICROS = 1L << 52;

  /** An upper bound for sums that may overflow. */
  private static final long FAR = 1L << 60;

  private final ReplayedBucket hull = new ReplayedBucket();
  private boolean isHullEmpty;
  private long leastMicros;
  private long mostMicros;

  /** Returns whether a record has the truncated time to full instead of the true one. */
  static boolean isCut(long[] row) {
    return row[Row.FULL_AT] - Row.epochMillis(row) * MICROS_PER_MILLI >= MAX_WAIT_MICROS;
  }

  /**
   * Sets the bounds of a record's time: its millisecond, but not before the last charge, since a
   * bucket's time does not step back.
   */
  private void setTime(ReplayedBucket from, long[] row) {
    long first = Row.epochMillis(row) * MICROS_PER_MILLI;
    long last = first + MICROS_PER_MILLI - 1;
    leastMicros = Math.max(first, from.earliestMicros);
    mostMicros = last < from.earliestMicros ? from.latestMicros : last;
  }

  /**
   * Returns whether a record's stamp agrees with its verdict: the bucket had the tokens that were
   * charged, or lacked those that were denied.
   *
   * @param latestMicros latest time of the earlier records of the bucket
   */
  boolean agreesWithItsVerdict(Rate rate, long[] row, long latestMicros) {
    long cost = row[Row.COST];
    if (!rate.refills()) {
      return Row.isDenial(row) || cost <= rate.capacityTokens();
    }
    if (cost > rate.capacityTokens()) {
      return Row.isDenial(row);
    }
    long first = Row.epochMillis(row) * MICROS_PER_MILLI;
    long fullAt = row[Row.FULL_AT];
    if (Row.isDenial(row)) {
      long ticks = rate.ticksIn(fullAt - first);
      return ticks > (rate.capacityUnits() - rate.units(cost)) / rate.unitsPerTick();
    }
    long last = Math.max(first + MICROS_PER_MILLI - 1, latestMicros);
    long certain = rate.ticksIn(fullAt - last) - (Row.isLease(row) ? 2 : 1);
    return certain <= (rate.capacityUnits() - 1) / rate.unitsPerTick();
  }

  /** Sets the state that follows from a record alone. */
  void byItself(Rate rate, long[] row, ReplayedBucket after) {
    stand(row, after);
    after.earliestMicros = Row.epochMillis(row) * MICROS_PER_MILLI;
    after.latestMicros = after.earliestMicros + MICROS_PER_MILLI - 1;
    after.fullAtMicros = row[Row.FULL_AT];
    after.leastSlack = 0;
    after.mostSlack = mostSlack(rate, row);
    after.leastUsed = Row.isDenial(row) ? leastUsedAtDenial(rate, row) : row[Row.COST];
    after.mostUsed = Row.isDenial(row) ? ReplayedBucket.MOST_USED : rate.capacityTokens();
  }

  private static long leastUsedAtDenial(Rate rate, long[] row) {
    return rate.decidesAlone() ? rate.capacityTokens() - row[Row.COST] + 1 : 0;
  }

  private static long mostSlack(Rate rate, long[] row) {
    return Row.isLease(row) ? 2 * rate.unitsPerTick() - 1 : rate.unitsPerTick() - 1;
  }

  private static void stand(long[] row, ReplayedBucket after) {
    after.isKnown = true;
    after.epoch = row[Row.EPOCH];
    after.charged = row[Row.CHARGED];
    after.version = row[Row.VERSION];
    after.limit = Row.limitNumber(row);
  }

  /** Sets the state of a bucket that is full at a time and was never charged. */
  static void full(long epoch, int limit, ReplayedBucket state) {
    state.become(new ReplayedBucket());
    state.isKnown = true;
    state.epoch = epoch;
    state.limit = limit;
    state.fullAtMicros = epoch;
    state.earliestMicros = epoch;
    state.latestMicros = epoch;
  }

  /**
   * Returns whether a record follows from a state of its bucket under the same limit. If so, sets
   * the state after the record. {@code from} and {@code after} may be the same object.
   *
   * @param gapTokens tokens that were charged between the state and the record, at unknown times
   */
  boolean follows(
      Rate rate, ReplayedBucket from, long[] row, long gapTokens, ReplayedBucket after) {
    setTime(from, row);
    if (leastMicros > mostMicros) {
      return false;
    }
    if (!rate.refills()) {
      return followsInPeriod(rate, from, row, gapTokens, after);
    }
    if (gapTokens > 0) {
      return followsAfterGap(rate, from, row, gapTokens, after);
    }
    return Row.isDenial(row)
        ? refusalFollows(rate, from, row, after)
        : chargeFollows(rate, from, row, after);
  }

  private static boolean followsInPeriod(
      Rate rate, ReplayedBucket from, long[] row, long gapTokens, ReplayedBucket after) {
    long least = from.leastUsed + gapTokens;
    long most = Math.min(ReplayedBucket.MOST_USED, from.mostUsed + gapTokens);
    long room = rate.capacityTokens() - row[Row.COST];
    if (Row.isDenial(row)) {
      least = rate.decidesAlone() ? Math.max(least, room + 1) : least;
    } else {
      most = Math.min(most, room);
    }
    if (least > most) {
      return false;
    }
    long taken = Row.taken(row);
    stand(row, after);
    after.leastUsed = least + taken;
    after.mostUsed = most + taken;
    after.earliestMicros = 0;
    after.latestMicros = 0;
    return true;
  }

  /**
   * Judges a denial. A denial writes nothing, so it finds the bucket as the last charge left it.
   */
  private boolean refusalFollows(Rate rate, ReplayedBucket from, long[] row, ReplayedBucket after) {
    long fullAt = row[Row.FULL_AT];
    if (row[Row.COST] > rate.capacityTokens()
        && fullAt >= Math.max(leastMicros, from.fullAtMicros - rate.tickMicros())
        && fullAt <= mostMicros) {
      after.become(from); // the record shows only that the bucket is full
      after.version = row[Row.VERSION];
      return true;
    }
    long r = rate.unitsPerTick();
    long ticksEarlier = (from.fullAtMicros - fullAt) / rate.tickMicros();
    if (ticksEarlier < 0
        || ticksEarlier > 1
        || from.fullAtMicros - fullAt != ticksEarlier * rate.tickMicros()) {
      return false;
    }
    long least = Math.max(from.leastSlack, ticksEarlier * r);
    long most = Math.min(from.mostSlack, ticksEarlier * r + r - 1);
    if (least > most) {
      return false;
    }
    after.become(from);
    after.version = row[Row.VERSION];
    after.fullAtMicros = fullAt;
    after.leastSlack = least - ticksEarlier * r;
    after.mostSlack = most - ticksEarlier * r;
    return true;
  }

  private boolean chargeFollows(Rate rate, ReplayedBucket from, long[] row, ReplayedBucket after) {
    long units = rate.units(row[Row.COST]);
    isHullEmpty = true;
    addCharges(rate, from, units, row[Row.FULL_AT], 0);
    if (Row.isLease(row)) {
      addCharges(rate, from, units, row[Row.FULL_AT] - rate.tickMicros(), rate.unitsPerTick());
    }
    if (isHullEmpty) {
      return false;
    }
    stand(row, after);
    after.fullAtMicros = row[Row.FULL_AT];
    after.leastSlack = hull.leastSlack;
    after.mostSlack = hull.mostSlack;
    after.earliestMicros = hull.earliestMicros;
    after.latestMicros = hull.latestMicros;
    return true;
  }

  /**
   * Adds the states in which a charge may have left the bucket full at a time.
   *
   * @param laterUnits units by which the recorded time is later than the true one
   */
  private void addCharges(
      Rate rate, ReplayedBucket from, long units, long fullAt, long laterUnits) {
    long r = rate.unitsPerTick();
    long tick = rate.tickMicros();
    long before = from.fullAtMicros;
    if (leastMicros < before && (fullAt - before) % tick == 0) {
      // the bucket was not full: the charge adds to what it lacked
      long ticks = (fullAt - before) / tick;
      if (ticks >= (units - from.mostSlack) / r - 1 && ticks <= units / r + 1) {
        long least = Math.max(from.leastSlack, units - r * ticks);
        long most = Math.min(from.mostSlack, units - r * (ticks - 1) - 1);
        if (least <= most) {
          long shift = r * ticks - units + laterUnits;
          add(least + shift, most + shift, leastMicros, Math.min(mostMicros, before - 1));
        }
      }
    }
    if (tick > 1) {
      // the bucket lacked less than a tick, and the charge dropped the current tick
      long first = Math.max(leastMicros, before - 2 * tick);
      for (int more = -1; more <= 1; more++) {
        long now = fullAt - rate.microsFor(units) - more * tick;
        if (now >= first && now <= Math.min(mostMicros, before - 1)) {
          add(laterUnits, r - 1 + laterUnits, now, now);
        }
      }
    }
    // the bucket was full: the time of the charge follows from the time to full
    long now = fullAt - rate.microsFor(units);
    if (now >= Math.max(leastMicros, before - tick * (from.mostSlack / r)) && now <= mostMicros) {
      long slack = rate.microsFor(units) / tick * r - units + laterUnits;
      add(slack, slack, now, now);
    }
  }

  private void add(long leastSlack, long mostSlack, long earliestMicros, long latestMicros) {
    hull.leastSlack = isHullEmpty ? leastSlack : Math.min(hull.leastSlack, leastSlack);
    hull.mostSlack = isHullEmpty ? mostSlack : Math.max(hull.mostSlack, mostSlack);
    hull.earliestMicros =
        isHullEmpty ? earliestMicros : Math.min(hull.earliestMicros, earliestMicros);
    hull.latestMicros = isHullEmpty ? latestMicros : Math.max(hull.latestMicros, latestMicros);
    isHullEmpty = false;
  }

  /**
   * Judges a record after unknown charges. The unknown charges may have come at any time between
   * the last known charge and this record.
   */
  private boolean followsAfterGap(
      Rate rate, ReplayedBucket from, long[] row, long gapTokens, ReplayedBucket after) {
    long gap = rate.units(gapTokens);
    long units = rate.units(Row.taken(row));
    long roundedMicros = 2 * (rate.tickMicros() - 1) + (Row.isLease(row) ? rate.tickMicros() : 0);
    long least = from.fullAtMicros + rate.wholeMicrosFor(gap + units - from.mostSlack);
    if (!Row.isDenial(row)) {
      least = Math.max(least, leastMicros + rate.wholeMicrosFor(units));
    }
    long most = Math.max(from.fullAtMicros, mostMicros) + rate.microsFor(gap + units);
    long fullAt = row[Row.FULL_AT];
    if (fullAt < least - roundedMicros || fullAt > Math.min(FAR, most) + roundedMicros + 1) {
      return false;
    }
    long earliest = from.earliestMicros;
    stand(row, after);
    after.fullAtMicros = fullAt;
    after.leastSlack = 0;
    after.mostSlack = mostSlack(rate, row);
    after.earliestMicros = Row.isDenial(row) ? earliest : leastMicros;
    after.latestMicros = mostMicros;
    return true;
  }

  /**
   * Returns whether a bucket may have lacked tokens for a cost at a time.
   *
   * @param gapTokens further tokens that may have been charged before that time
   * @param epochMicros the earliest possible time
   */
  static boolean mayLack(
      Rate rate, ReplayedBucket state, long costTokens, long gapTokens, long epochMicros) {
    if (costTokens > rate.capacityTokens()) {
      return true;
    }
    if (!rate.refills()) {
      return state.mostUsed + gapTokens + costTokens > rate.capacityTokens();
    }
    long room = rate.capacityUnits() - rate.units(costTokens) - rate.units(gapTokens);
    long ticks = rate.ticksIn(state.fullAtMicros - epochMicros);
    return room < 0 || ticks > room / rate.unitsPerTick();
  }
}
