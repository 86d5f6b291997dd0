// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.limits.BillingPeriod;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageState;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NavigableSet;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * A usage report under construction: sums ledger windows by bucket and endpoint. Not thread-safe.
 */
final class UsageReport {
  /** Maximum number of rows in memory; a report with more is refused rather than truncated. */
  static final int MAX_ROWS = 1_000_000;

  /**
   * One row of the response.
   *
   * @param from inclusive start of the bucket
   * @param to exclusive end of the bucket
   * @param isFinal whether every window in it is closed
   * @param complete whether every window in it is closed and no call in it can be missing
   * @param revision greatest revision of a window in it; 0 while not final
   * @param endpoint the endpoint; empty if rows are not divided by endpoint
   * @param others whether this is the others row
   * @param period the billing period; null if the bucket follows the clock
   * @param place sort key of the row among rows with the same start; the others row precedes the
   *     endpoints
   */
  record Row(
      Instant from,
      Instant to,
      boolean isFinal,
      boolean complete,
      long revision,
      long quantity,
      long allowed,
      long denied,
      long failOpen,
      String endpoint,
      boolean others,
      @Nullable BillingPeriod period,
      String place) {}

  private static final class Sum {
    long revision;
    long quantity;
    long allowed;
    long denied;
    long failOpen;
    boolean hasRunning;

    /** Whether a window in it was closed while calls may have been missing. */
    boolean hasIncomplete;
  }

  /**
   * The rows of one bucket, by endpoint. The endpoint is empty for the others row, and if rows are
   * not divided by endpoint.
   */
  private static final class Bucket {
    final Instant from;
    final Instant to;
    final @Nullable BillingPeriod period;

    /** Sort key of the bucket among buckets with the same start. */
    final String place;

    final SortedMap<String, Sum> sums = new TreeMap<>();

    Bucket(Instant from, Instant to, @Nullable BillingPeriod period) {
      this.from = from;
      this.to = to;
      this.period = period;
      this.place =
          period == null
              ? ""
              : String.format(
                  Locale.ROOT,
                  "%016d %s %s ",
                  period.endEpochMillis(),
                  period.name(),
                  period.timeZone());
    }
  }

  private final UsageQuery query;
  private final long atomMillis;
  private final long closedThroughEpochMillis;
  private final @Nullable PartitionProgress progress;

  /** Starts of the buckets by the clock, and the end of the last one; empty for billing periods. */
  private final long[] starts;

  private final List<Bucket> ofClock = new ArrayList<>();

  /** The buckets of billing periods, in the order of {@link Row#place}. */
  private final SortedMap<BillingPeriod, Bucket> ofBilling =
      new TreeMap<>(
          Comparator.comparingLong(BillingPeriod::startEpochMillis)
              .thenComparingLong(BillingPeriod::endEpochMillis)
              .thenComparing(BillingPeriod::name)
              .thenComparing(BillingPeriod::timeZone));

  /** The bucket of the last added window; the next window usually has the same period. */
  private @Nullable Bucket lastOfBilling;

  /** The month in UTC of the last added window. */
  private @Nullable BillingPeriod lastMonth;

  private int rows;
  private boolean hasIncomplete;

  /** Starts of the windows with an unreadable row. */
  private final NavigableSet<Long> unreadable = new TreeSet<>();

  /**
   * Creates an empty report.
   *
   * @param atom size of a ledger window
   * @param progress progress of the partition; null if nothing of it has been counted
   */
  UsageReport(UsageQuery query, Duration atom, @Nullable PartitionProgress progress) {
    this.query = query;
    this.atomMillis = atom.toMillis();
    this.progress = progress;
    this.closedThroughEpochMillis = progress == null ? 0 : progress.closedThroughEpochMillis();
    List<Instant> boundaries = query.byBillingPeriod() ? List.of() : boundaries(query, atom);
    this.starts = boundaries.stream().mapToLong(Instant::toEpochMilli).toArray();
    for (int i = 0; i + 1 < starts.length; i++) {
      ofClock.add(new Bucket(boundaries.get(i), boundaries.get(i + 1), null));
    }
  }

  private static List<Instant> boundaries(UsageQuery query, Duration atom) {
    List<Instant> found = query.buckets().boundaries(query.from(), query.to(), query.zone());
    if (found == null) {
      throw new ProblemException(
          Problem.ofField(
              ProblemReason.INVALID_PARAMETER,
              "window",
              "results in more than "
                  + Buckets.MAX_BUCKETS
                  + " windows; request a shorter interval or longer windows"));
    }
    for (Instant boundary : found) {
      if (boundary.toEpochMilli() % atom.toMillis() != 0) {
        throw new ProblemException(
            Problem.ofField(
                ProblemReason.INVALID_PARAMETER,
                "tz",
                "has midnights inside a ledger window of " + atom));
      }
    }
    return found;
  }

  /** Adds the figures of one ledger window. */
  void add(UsageState state) {
    Bucket bucket = query.byBillingPeriod() ? billingBucket(state) : clockBucket(state);
    if (bucket == null) {
      return;
    }
    Sum sum =
        bucket.sums.computeIfAbsent(
            query.byEndpoint() && !state.key().others() ? state.key().endpoint() : "",
            none -> newSum());
    sum.quantity = sum(sum.quantity, state.count().quantity());
    sum.allowed = sum(sum.allowed, state.count().callsAllowed());
    sum.denied = sum(sum.denied, state.count().callsDenied());
    sum.failOpen = sum(sum.failOpen, state.count().callsFailOpen());
    sum.revision = Math.max(sum.revision, state.revision());
    boolean running = state.status() == UsageState.Status.RUNNING;
    sum.hasRunning |= running;
    // a settlement counted without its call makes a window negative
    sum.hasIncomplete |= (!running && !state.complete()) || state.count().quantity() < 0;
    hasIncomplete |= sum.hasIncomplete;
  }

  /** Adds a ledger window with an unreadable row. No bucket that contains it is complete. */
  void addUnreadable(long startEpochMillis) {
    unreadable.add(startEpochMillis);
  }

  private @Nullable Bucket clockBucket(UsageState state) {
    int found = Arrays.binarySearch(starts, state.window().startEpochMillis());
    int bucket = found >= 0 ? found : -found - 2;
    return bucket < 0 || bucket >= ofClock.size() ? null : ofClock.get(bucket);
  }

  private @Nullable Bucket billingBucket(UsageState state) {
    BillingPeriod period = periodOf(state);
    if (period.endEpochMillis() <= query.from().toEpochMilli()
        || period.startEpochMillis() >= query.to().toEpochMilli()) {
      return null;
    }
    Bucket bucket = lastOfBilling;
    if (bucket == null || !period.equals(bucket.period)) {
      bucket = ofBilling.computeIfAbsent(period, UsageReport::bucketOf);
      lastOfBilling = bucket;
    }
    return bucket;
  }

  private static Bucket bucketOf(BillingPeriod period) {
    return new Bucket(
        Instant.ofEpochMilli(period.startEpochMillis()),
        Instant.ofEpochMilli(period.endEpochMillis()),
        period);
  }

  private BillingPeriod periodOf(UsageState state) {
    BillingPeriod month = lastMonth;
    if (state.ownPeriod() == null
        && month != null
        && month.holds(state.window().startEpochMillis())) {
      return month;
    }
    BillingPeriod period = state.billingPeriod();
    if (state.ownPeriod() == null) {
      lastMonth = period;
    }
    return period;
  }

  /**
   * Adds two quantities. A window has up to 2^53 − 1, so a sum of about a thousand may exceed
   * int64.
   */
  private static long sum(long quantity, long more) {
    try {
      return Math.addExact(quantity, more);
    } catch (ArithmeticException outOfRange) {
      throw new ProblemException(
          Problem.ofField(
              ProblemReason.INVALID_PARAMETER,
              "from",
              "results in a quantity beyond 2^63 - 1; request less time or smaller windows"));
    }
  }

  private Sum newSum() {
    if (++rows > MAX_ROWS) {
      throw new ProblemException(
          Problem.ofField(
              ProblemReason.INVALID_PARAMETER,
              "from",
              "results in more than " + MAX_ROWS + " rows; request a shorter interval"));
    }
    return new Sum();
  }

  /**
   * Returns whether every window of the report is closed and no call in it can be missing, even if
   * the client has no row in it.
   */
  boolean isComplete() {
    Instant from = query.from();
    for (Bucket bucket : ofBilling.values()) {
      from = bucket.from.isBefore(from) ? bucket.from : from;
    }
    // the billing period of an unreadable row is unknown
    boolean knowsPeriods = !query.byBillingPeriod() || unreadable.isEmpty();
    return !hasIncomplete && knowsPeriods && isComplete(from, to());
  }

  /** Returns whether no call can be missing in the windows that contain a range of time. */
  private boolean isComplete(Instant from, Instant to) {
    long begin = Math.floorDiv(from.toEpochMilli(), atomMillis) * atomMillis;
    long end = endOfAtom(to);
    return progress != null
        && progress.isComplete(begin, end)
        && unreadable.subSet(begin, end).isEmpty();
  }

  private long endOfAtom(Instant time) {
    return -Math.floorDiv(-time.toEpochMilli(), atomMillis) * atomMillis;
  }

  /**
   * Returns the end of the report: the requested end, or the end of its last billing period if that
   * is later.
   */
  Instant to() {
    Instant end = query.to();
    for (Bucket bucket : ofBilling.values()) {
      end = bucket.to.isAfter(end) ? bucket.to : end;
    }
    return end;
  }

  /** Returns the rows of the page; at most one more than the limit. */
  List<Row> rows() {
    List<Row> page = new ArrayList<>();
    for (Bucket bucket : query.byBillingPeriod() ? ofBilling.values() : ofClock) {
      if (page.size() > query.limit()) {
        return page;
      }
      SortedMap<String, Sum> sums = bucket.sums;
      if (sums.isEmpty() && query.fillZero() && !query.byEndpoint()) {
        sums = new TreeMap<>(Map.of("", new Sum()));
      }
      for (var entry : sums.entrySet()) {
        Row row = row(bucket, entry.getKey(), entry.getValue());
        PageCursor begin = query.page();
        boolean onPage = begin == null || begin.isBefore(row.from(), row.place());
        if (onPage && (row.isFinal() || !query.finalOnly()) && page.size() <= query.limit()) {
          page.add(row);
        }
      }
    }
    return page;
  }

  private Row row(Bucket bucket, String endpoint, Sum sum) {
    // a window that starts in a billing period may end after it
    long end = endOfAtom(bucket.to);
    boolean others = query.byEndpoint() && endpoint.isEmpty();
    boolean isFinal = !sum.hasRunning && end <= closedThroughEpochMillis;
    return new Row(
        bucket.from,
        bucket.to,
        isFinal,
        isFinal && !sum.hasIncomplete && isComplete(bucket.from, bucket.to),
        isFinal ? sum.revision : 0,
        Math.max(0, sum.quantity),
        sum.allowed,
        sum.denied,
        sum.failOpen,
        others ? UsageKey.OTHER : endpoint,
        others,
        bucket.period,
        bucket.place + endpoint);
  }

  String unit() {
    return new UsageKey(query.client(), query.meter(), "-").unit();
  }
}
