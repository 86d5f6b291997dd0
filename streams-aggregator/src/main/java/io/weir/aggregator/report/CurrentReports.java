// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.aggregator.audit.bucket.BucketSnapshot;
import io.weir.limits.BucketKey;
import io.weir.limits.BucketLimit;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The report of a client's live buckets. It shows each bucket according to the records and
 * according to the cache. Thread-safe.
 */
final class CurrentReports {
  private static final long MICROS_PER_MILLI = 1_000;

  /**
   * Maximum number of buckets in a response. The member {@code has_more} shows whether further
   * buckets exist.
   */
  static final int MAX_BUCKETS = 1_000;

  private final BucketSnapshots source;
  private final LiveCache cache;

  CurrentReports(BucketSnapshots source, LiveCache cache) {
    this.source = source;
    this.cache = cache;
  }

  /**
   * Returns the response for a client. This instance must count the client's partition or have a
   * copy of its state.
   */
  Answer answer(int partition, String client, Instant now) {
    BucketSnapshots.Found found = source.ofClient(partition, client, MAX_BUCKETS + 1);
    Map<String, Object> document = document(client, found.snapshots(), cache, now);
    document.put("copy", found.isCopy());
    if (found.isCopy()) {
      document.put("copy_lag_records", found.lagRecords());
    }
    return Answer.json(200, document);
  }

  /** Returns the document of a client's buckets. It omits buckets whose period has ended. */
  static Map<String, Object> document(
      String client, List<BucketSnapshot> snapshots, LiveCache cache, Instant now) {
    long nowEpochMicros = ChronoUnit.MICROS.between(Instant.EPOCH, now);
    List<BucketSnapshot> shown =
        snapshots.subList(0, Math.min(MAX_BUCKETS, snapshots.size())).stream()
            .filter(snapshot -> !snapshot.limit().isOverAt(nowEpochMicros))
            .toList();
    Map<String, BucketLimit> limits = new LinkedHashMap<>();
    shown.forEach(snapshot -> limits.put(snapshot.bucket(), snapshot.limit()));
    Map<String, LiveCache.Held> live = limits.isEmpty() ? Map.of() : cache.ask(limits);
    List<Object> buckets = new ArrayList<>();
    for (BucketSnapshot snapshot : shown) {
      buckets.add(members(snapshot, live.get(snapshot.bucket()), nowEpochMicros));
    }
    Map<String, Object> document = new LinkedHashMap<>();
    document.put("client", client);
    document.put("as_of", now.truncatedTo(ChronoUnit.MILLIS).toString());
    document.put("provisional", true);
    document.put("buckets", buckets);
    document.put("has_more", snapshots.size() > MAX_BUCKETS);
    return document;
  }

  private static Map<String, Object> members(
      BucketSnapshot snapshot, LiveCache.@Nullable Held held, long reportedAtEpochMicros) {
    // all levels must be of the same time, by the cache's clock if the cache responds
    long clockEpochMicros = held == null ? reportedAtEpochMicros : held.atEpochMicros();
    BucketLimit limit = snapshot.limit();
    // after the clock has stepped back nothing refills, so the levels are of the newest record's
    // time
    long knownEpochMicros = snapshot.knownThroughEpochMicros();
    long nowEpochMicros = Math.max(clockEpochMicros, knownEpochMicros);
    long fullAtEpochMicros = snapshot.trueFullAtEpochMicros();
    long exact = limit.levelTokens(fullAtEpochMicros, snapshot.totalTokens(), nowEpochMicros);
    Long stamped =
        limit.refills()
            ? Long.valueOf(limit.levelTokens(snapshot.cacheFullAtEpochMicros(), 0, nowEpochMicros))
            : usedInCache(snapshot);
    long aheadMicros = nowEpochMicros - clockEpochMicros;
    boolean countsAsNow = aheadMicros > limit.arithmetic().fillMicros();
    long resetsAtEpochMicros =
        limit.fullAtMicros(
            Math.max(clockEpochMicros, fullAtEpochMicros - (countsAsNow ? aheadMicros : 0)));
    Map<String, Object> members = new LinkedHashMap<>();
    members.put("policy", BucketKey.policyShown(snapshot.bucket()));
    members.put("bucket", snapshot.bucket());
    members.put("algorithm", limit.algorithm().wireName());
    members.put("limit", limit.capacityTokens());
    members.put("used", limit.capacityTokens() - exact);
    members.put("remaining", Math.max(0, exact));
    members.put("resets_at", time(resetsAtEpochMicros));
    members.put("cache_remaining", held == null ? null : held.remainingTokens());
    members.put("exact_remaining", exact);
    members.put("on_the_way", held == null ? null : onTheWay(snapshot, held));
    members.put("drift", held == null ? null : drift(snapshot, held, exact));
    members.put("version", snapshot.version());
    members.put("confirmed", snapshot.confirmedVersion());
    members.put("stamped_remaining", stamped);
    members.put(
        "stamped_at",
        snapshot.stampedAtEpochMillis() == 0 ? null : time(snapshot.stampedAtEpochMillis() * 1000));
    return members;
  }

  /**
   * Returns the number of tokens that the cache has charged for calls whose records are not known.
   */
  private static long onTheWay(BucketSnapshot snapshot, LiveCache.Held held) {
    return snapshot.pendingTokens() + sinceNewestStamp(snapshot, held);
  }

  /** Returns the number of tokens charged since the newest stamp, possibly in a newer epoch. */
  private static long sinceNewestStamp(BucketSnapshot snapshot, LiveCache.Held held) {
    if (held.epoch() > snapshot.epoch()) {
      return held.chargedTokens();
    }
    boolean isSameEpoch = held.epoch() == snapshot.epoch();
    return isSameEpoch ? Math.max(0, held.chargedTokens() - snapshot.chargedTokens()) : 0;
  }

  /**
   * Returns the error of the cache in tokens, which is the cache's content minus the expected
   * content. The cache does not report the debt of a bucket that never refills. Returns null if the
   * error is unknown for this reason.
   */
  private static @Nullable Long drift(BucketSnapshot snapshot, LiveCache.Held held, long exact) {
    boolean refills = snapshot.limit().refills();
    // The level of a bucket that refills includes the charges that stamps show. The level of any
    // other bucket is a sum of records.
    long shown = refills ? 0 : snapshot.pendingTokens();
    long expected = exact - shown - sinceNewestStamp(snapshot, held);
    boolean isUnknown = !refills && expected < 0 && held.remainingTokens() == 0;
    return isUnknown ? null : held.remainingTokens() - expected;
  }

  /**
   * Returns the content of a bucket that never refills, in tokens, at the time of the cache's
   * newest stamp. Before the first correction of the epoch, the counter shows the content. When the
   * newest correction is confirmed, cache and records agree. At other times the content is unknown,
   * and this method returns null.
   */
  private static @Nullable Long usedInCache(BucketSnapshot snapshot) {
    long capacity = snapshot.limit().capacityTokens();
    if (snapshot.confirmedVersion() == 0) {
      return capacity - snapshot.chargedTokens();
    }
    return snapshot.confirmedVersion() == snapshot.version()
        ? capacity - snapshot.totalTokens()
        : null;
  }

  /** Formats a time as RFC 3339, rounded up to the millisecond. */
  static String time(long epochMicros) {
    return Instant.ofEpochMilli(-Math.floorDiv(-epochMicros, MICROS_PER_MILLI)).toString();
  }
}
