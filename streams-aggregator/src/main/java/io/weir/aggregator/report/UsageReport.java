// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageState;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A report while it is rolled up from ledger windows: rows by bucket and endpoint. Not thread-safe.
 */
final class UsageReport {
  /** Most rows kept while rolling up; a report with more is refused rather than truncated. */
  static final int MAX_ROWS = 1_000_000;

  /**
   * One row of the answer.
   *
   * @param from inclusive start of the bucket
   * @param to exclusive end of the bucket
   * @param isFinal whether every window in it is closed
   * @param revision greatest revision of a window in it; 0 while not final
   * @param endpoint the endpoint; empty if rows are not divided by endpoint
   */
  record Row(
      Instant from,
      Instant to,
      boolean isFinal,
      long revision,
      long quantity,
      long allowed,
      long denied,
      long failOpen,
      String endpoint) {}

  private static final class Sum {
    long revision;
    long quantity;
    long allowed;
    long denied;
    long failOpen;
    boolean hasRunning;
  }

  private final UsageQuery query;
  private final List<Instant> boundaries;
  private final long[] starts;
  private final List<SortedMap<String, Sum>> sums = new ArrayList<>();
  private final long closedThroughEpochMillis;
  private int rows;
  private boolean atomsComplete = true;

  /**
   * Creates an empty report.
   *
   * @param atom size of a ledger window
   * @param progress how far the partition was counted; null if it was not at all
   */
  UsageReport(UsageQuery query, Duration atom, @Nullable PartitionProgress progress) {
    this.query = query;
    this.closedThroughEpochMillis = progress == null ? 0 : progress.closedThroughEpochMillis();
    List<Instant> found = query.buckets().boundaries(query.from(), query.to(), query.zone());
    if (found == null) {
      throw new ProblemException(
          Problem.ofField(
              ProblemReason.INVALID_PARAMETER,
              "window",
              "gives more than " + Buckets.MAX_BUCKETS + " buckets between from and to"));
    }
    this.boundaries = found;
    this.starts = found.stream().mapToLong(Instant::toEpochMilli).toArray();
    for (long boundary : starts) {
      if (boundary % atom.toMillis() != 0) {
        throw new ProblemException(
            Problem.ofField(
                ProblemReason.INVALID_PARAMETER,
                "tz",
                "has midnights inside a ledger window of " + atom));
      }
    }
    for (int i = 0; i + 1 < starts.length; i++) {
      sums.add(new TreeMap<>());
    }
  }

  /** Adds the figures of one ledger window. */
  void add(UsageState state) {
    int found = Arrays.binarySearch(starts, state.window().startEpochMillis());
    int bucket = found >= 0 ? found : -found - 2;
    if (bucket < 0 || bucket >= sums.size()) {
      return;
    }
    Sum sum =
        sums.get(bucket)
            .computeIfAbsent(query.byEndpoint() ? state.key().endpoint() : "", none -> newSum());
    sum.quantity = sum(sum.quantity, state.count().quantity());
    sum.allowed += state.count().callsAllowed();
    sum.denied += state.count().callsDenied();
    sum.failOpen += state.count().callsFailOpen();
    sum.revision = Math.max(sum.revision, state.revision());
    boolean running = state.status() == UsageState.Status.RUNNING;
    sum.hasRunning |= running;
    atomsComplete &= running || state.complete();
  }

  /**
   * Adds two quantities. Windows hold up to 2^53 − 1 each, so the sum of a thousand may exceed an
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
              "gives a quantity beyond 2^63 - 1; ask for less time, or for smaller windows"));
    }
  }

  private Sum newSum() {
    if (++rows > MAX_ROWS) {
      throw new ProblemException(
          Problem.ofField(
              ProblemReason.INVALID_PARAMETER, "from", "gives more than " + MAX_ROWS + " rows"));
    }
    return new Sum();
  }

  /** Returns whether every closed window in the report waited for all nodes. */
  boolean windowsAreComplete() {
    return atomsComplete;
  }

  /** Returns the rows from the page's beginning on; at most one more than the limit. */
  List<Row> rows() {
    List<Row> page = new ArrayList<>();
    for (int i = 0; i < sums.size() && page.size() <= query.limit(); i++) {
      SortedMap<String, Sum> bucket = sums.get(i);
      if (bucket.isEmpty() && query.fillZero() && !query.byEndpoint()) {
        bucket = new TreeMap<>(Map.of("", new Sum()));
      }
      for (var entry : bucket.entrySet()) {
        Row row = row(i, entry.getKey(), entry.getValue());
        PageCursor begin = query.page();
        boolean onPage = begin == null || begin.isBefore(row.from(), row.endpoint());
        if (onPage && (row.isFinal() || !query.finalOnly()) && page.size() <= query.limit()) {
          page.add(row);
        }
      }
    }
    return page;
  }

  private Row row(int bucket, String endpoint, Sum sum) {
    Instant to = boundaries.get(bucket + 1);
    boolean isFinal = !sum.hasRunning && to.toEpochMilli() <= closedThroughEpochMillis;
    return new Row(
        boundaries.get(bucket),
        to,
        isFinal,
        isFinal ? sum.revision : 0,
        sum.quantity,
        sum.allowed,
        sum.denied,
        sum.failOpen,
        endpoint);
  }

  String unit() {
    return new UsageKey(query.client(), query.meter(), "-").unit();
  }
}
