// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.aggregator.count.BucketStanding;
import io.weir.limits.BucketKey;
import io.weir.limits.BucketLimit;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Says how the live buckets of a client stand. Safe for threads. */
final class CurrentReports {
  private static final long MICROS_PER_MILLI = 1_000;

  /** Most buckets told of a client; more are cut, and the answer says so. */
  static final int MAX_BUCKETS = 1_000;

  private final BucketTracks tracks;
  private final LiveCache cache;

  CurrentReports(BucketTracks tracks, LiveCache cache) {
    this.tracks = tracks;
    this.cache = cache;
  }

  /** The answer about a client whose partition is counted here, or copied to here. */
  Answer answer(int partition, String client, Instant now) {
    BucketTracks.Found found = tracks.ofClient(partition, client, MAX_BUCKETS + 1);
    Map<String, Object> document = document(client, found.standings(), cache, now);
    document.put("copy", found.isCopy());
    if (found.isCopy()) {
      document.put("copy_lag_records", found.lagRecords());
    }
    return Answer.json(200, document);
  }

  /** The document over a client's standings; a bucket whose period is over is left out. */
  static Map<String, Object> document(
      String client, List<BucketStanding> standings, LiveCache cache, Instant now) {
    long nowEpochMicros = ChronoUnit.MICROS.between(Instant.EPOCH, now);
    List<BucketStanding> told =
        standings.subList(0, Math.min(MAX_BUCKETS, standings.size())).stream()
            .filter(standing -> !standing.limit().isOverAt(nowEpochMicros))
            .toList();
    Map<String, BucketLimit> limits = new LinkedHashMap<>();
    told.forEach(standing -> limits.put(standing.bucket(), standing.limit()));
    Map<String, LiveCache.Held> live = limits.isEmpty() ? Map.of() : cache.ask(limits);
    List<Object> buckets = new ArrayList<>();
    for (BucketStanding standing : told) {
      buckets.add(members(standing, live.get(standing.bucket()), nowEpochMicros));
    }
    Map<String, Object> document = new LinkedHashMap<>();
    document.put("client", client);
    document.put("as_of", now.truncatedTo(ChronoUnit.MILLIS).toString());
    document.put("provisional", true);
    document.put("buckets", buckets);
    document.put("has_more", standings.size() > MAX_BUCKETS);
    return document;
  }

  private static Map<String, Object> members(
      BucketStanding standing, LiveCache.@Nullable Held held, long reportedAtEpochMicros) {
    // levels that are compared are of one moment, by the cache's clock if it answers
    long nowEpochMicros = held == null ? reportedAtEpochMicros : held.atEpochMicros();
    BucketLimit limit = standing.limit();
    long fullAtEpochMicros = standing.trueFullAtEpochMicros();
    long exact = limit.levelTokens(fullAtEpochMicros, standing.totalTokens(), nowEpochMicros);
    Long stamped =
        limit.refills()
            ? Long.valueOf(limit.levelTokens(standing.cacheFullAtEpochMicros(), 0, nowEpochMicros))
            : usedInCache(standing);
    long resetsAtEpochMicros = limit.fullAtMicros(Math.max(nowEpochMicros, fullAtEpochMicros));
    Map<String, Object> members = new LinkedHashMap<>();
    members.put("policy", BucketKey.parse(standing.bucket()).policy().shown());
    members.put("bucket", standing.bucket());
    members.put("algorithm", limit.algorithm().wireName());
    members.put("limit", limit.capacityTokens());
    members.put("used", limit.capacityTokens() - exact);
    members.put("remaining", Math.max(0, exact));
    members.put("resets_at", time(resetsAtEpochMicros));
    members.put("cache_remaining", held == null ? null : held.remainingTokens());
    members.put("exact_remaining", exact);
    members.put("on_the_way", held == null ? null : onTheWay(standing, held));
    members.put("drift", held == null ? null : drift(standing, held, exact));
    members.put("version", standing.version());
    members.put("confirmed", standing.confirmedVersion());
    members.put("stamped_remaining", stamped);
    members.put(
        "stamped_at",
        standing.stampedAtEpochMillis() == 0 ? null : time(standing.stampedAtEpochMillis() * 1000));
    return members;
  }

  /** What the cache has charged and no record has shown yet. */
  private static long onTheWay(BucketStanding standing, LiveCache.Held held) {
    return standing.pendingTokens() + sinceNewestStamp(standing, held);
  }

  /** What the cache has charged since its newest stamp, which may be in a life of its own. */
  private static long sinceNewestStamp(BucketStanding standing, LiveCache.Held held) {
    if (held.epoch() > standing.epoch()) {
      return held.chargedTokens();
    }
    boolean isSameLife = held.epoch() == standing.epoch();
    return isSameLife ? Math.max(0, held.chargedTokens() - standing.chargedTokens()) : 0;
  }

  /**
   * Null when it cannot be told: how deep a bucket that never refills is in debt, the cache does
   * not say.
   */
  private static @Nullable Long drift(BucketStanding standing, LiveCache.Held held, long exact) {
    boolean refills = standing.limit().refills();
    // the level of a bucket that refills has what stamps show; another's is a sum of records
    long shown = refills ? 0 : standing.pendingTokens();
    long expected = exact - shown - sinceNewestStamp(standing, held);
    boolean isUntold = !refills && expected < 0 && held.remainingTokens() == 0;
    return isUntold ? null : held.remainingTokens() - expected;
  }

  /**
   * What the cache's last word said a bucket still holds that never refills. Its counter says so
   * until the first correction of the epoch; once the newest one is confirmed it agrees with the
   * records; in between it is not known, which is null.
   */
  private static @Nullable Long usedInCache(BucketStanding standing) {
    long capacity = standing.limit().capacityTokens();
    if (standing.confirmedVersion() == 0) {
      return capacity - standing.chargedTokens();
    }
    return standing.confirmedVersion() == standing.version()
        ? capacity - standing.totalTokens()
        : null;
  }

  /** A moment as RFC 3339, to the millisecond: the first one that is not before it. */
  static String time(long epochMicros) {
    return Instant.ofEpochMilli(-Math.floorDiv(-epochMicros, MICROS_PER_MILLI)).toString();
  }
}
