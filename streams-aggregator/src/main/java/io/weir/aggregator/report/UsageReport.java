// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.limits.BillingPeriod;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageState;
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

/** A usage report, which sums ledger windows by bucket and endpoint. Not thread-safe. */
final class UsageReport implements UsageTable.Rows {
  /** Maximum number of rows in memory. A report with more rows is refused and not truncated. */
  static final int MAX_ROWS = 1_000_000;

  /**
   * One row of the response.
   *
   * @param from start of the bucket, inclusive
   * @param to end of the bucket, exclusive
   * @param isFinal whether all windows of the bucket are closed
   * @param complete whether all windows of the bucket are closed and none of their calls can be
   *     missing
   * @param revision greatest revision of the bucket's windows; 0 if the row is not final
   * @param endpoint the endpoint; empty if rows are not divided by endpoint
   * @param others whether this is the others row
   * @param period the billing period; null if the bucket is not a billing period
   * @param place sort key of the row among rows with the same start. The others row precedes the
   *     rows of endpoints
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

    /** Whether a window was closed although calls may have been missing. */
    boolean hasIncomplete;
  }

  /**
   * One bucket with its sums by endpoint. The endpoint is empty for the others row, and if rows are
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

  /**
   * Starts of the buckets, and the end of the last bucket. Empty if the buckets are billing
   * periods.
   */
  private final long[] starts;

  private final List<Bucket> ofClock = new ArrayList<>();

  /** The buckets that are billing periods, in the order of {@link Row#place}. */
  private final SortedMap<BillingPeriod, Bucket> ofBilling =
      new TreeMap<>(
          Comparator.comparingLong(BillingPeriod::startEpochMillis)
              .thenComparingLong(BillingPeriod::endEpochMillis)
              .thenComparing(BillingPeriod::name)
              .thenComparing(BillingPeriod::timeZone));

  /**
   * The bucket of the last added window. This bucket is stored because the next window usually has
   * the same billing period.
   */
  private @Nullable Bucket lastOfBilling;

  /**
   * The UTC month of the last added window without a billing period of the client's own calendar.
   */
  private @Nullable BillingPeriod lastMonth;

  private int rows;
  private boolean hasIncomplete;

  /** Starts of the windows with an unreadable row. */
  private final NavigableSet<Long> unreadable = new TreeSet<>();

  /**
   * Creates an empty report.
   *
   * @param atom length of a ledger window
   * @param progress progress of the partition; null if no record of the partition has been counted
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
      throw Parameters.bad(
          "window",
          "results in more than "
              + Buckets.MAX_BUCKETS
              + " windows; request a shorter interval or longer windows");
    }
    for (Instant boundary : found) {
      if (boundary.toEpochMilli() % atom.toMillis() != 0) {
        throw Parameters.bad(
            "tz",
            "must be a time zone whose midnights are boundaries of ledger windows of " + atom);
      }
    }
    return found;
  }

  /** Adds the figures of one ledger window. */
  @Override
  public void add(UsageState state) {
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
    // a window is negative if a settlement was counted without its call
    sum.hasIncomplete |= (!running && !state.complete()) || state.count().quantity() < 0;
    hasIncomplete |= sum.hasIncomplete;
  }

  /**
   * Adds a ledger window with an unreadable row. Buckets that contain this window are not complete.
   */
  @Override
  public void addUnreadable(long startEpochMillis) {
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
   * Returns the sum of two quantities. A window has a quantity of at most 2^53 − 1, so the sum of
   * about a thousand windows can exceed int64.
   */
  private static long sum(long quantity, long more) {
    try {
      return Math.addExact(quantity, more);
    } catch (ArithmeticException outOfRange) {
      throw Parameters.bad(
          "from",
          "must be later, because the quantity of a row exceeds 2^63 - 1; request less time or smaller windows");
    }
  }

  private Sum newSum() {
    if (++rows > MAX_ROWS) {
      throw Parameters.bad(
          "from", "results in more than " + MAX_ROWS + " rows; request a shorter interval");
    }
    return new Sum();
  }

  /**
   * Returns whether all windows of the report are closed and none of their calls can be missing.
   * This includes windows in which the client has no row.
   */
  boolean isComplete() {
    Instant from = query.from();
    for (Bucket bucket : ofBilling.values()) {
      from = bucket.from.isBefore(from) ? bucket.from : from;
    }
    // an unreadable row has an unknown billing period
    boolean knowsPeriods = !query.byBillingPeriod() || unreadable.isEmpty();
    return !hasIncomplete && knowsPeriods && isComplete(from, to());
  }

  /** Returns whether the windows that contain a range of time are complete. */
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
   * Returns the end of the report. The result is the requested end or the end of the last billing
   * period, whichever is later.
   */
  Instant to() {
    Instant end = query.to();
    for (Bucket bucket : ofBilling.values()) {
      end = bucket.to.isAfter(end) ? bucket.to : end;
    }
    return end;
  }

  /** Returns the rows of the page, and one more row if there are further pages. */
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
