// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import io.weir.aggregator.state.Budget;
import io.weir.aggregator.state.ByteStore;
import io.weir.aggregator.state.Packer;
import io.weir.limits.BucketLimit;
import io.weir.limits.correction.Correction;
import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.model.CacheLoss;
import io.weir.topics.model.CacheRestored;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.Stamp;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * All live buckets of one partition: compares what the cache said with what was recorded, and
 * publishes corrections where they disagree. A bucket leaves when it is full and its last word has
 * been checked, so that state grows with the buckets in use. Not safe for threads.
 */
public final class BucketReconciler {
  /**
   * How much longer than its time to full a bucket is tracked: longer than the cache keeps it, so
   * that the same life of a bucket never meets a new track.
   */
  static final long KEPT_AFTER_FULL_MILLIS = 15_000;

  /** Least time between two corrections of a bucket while none of them is seen to be applied. */
  static final long UNCONFIRMED_INTERVAL_MILLIS = 1_000;

  /** A correction that decisions do not show after this long is published again. */
  static final long REPEAT_AFTER_MILLIS = 5_000;

  /**
   * How far behind the watermark a charge must be before it counts as never recorded. A node that
   * has just started is not in the watermark until its first word has come.
   */
  static final long GAP_GRACE_MILLIS = 2_000;

  /** By no more does the cache's clock differ from a broker's. */
  private static final long CLOCKS_DIFFER_MILLIS = 10_000;

  /** No older is the newest word of a node, which stands in for a broker's clock that is wrong. */
  private static final long WORD_AGE_MILLIS = 60_000;

  /** A bucket that is called less often tells too late when its correction was applied. */
  private static final long DELAY_RESOLUTION_MILLIS = 500;

  /** Most tracks kept decoded in memory; at some 500 bytes each, 10 MB a partition. */
  static final int MAX_TRACKS_IN_MEMORY = 20_000;

  private static final long MICROS_PER_MILLI = 1_000;
  private static final int CHUNK_ROWS = 256;
  private static final byte[] FIRST_KEY = {'b'};
  private static final byte[] BEHIND_LAST_KEY = {'c'};

  private final int partition;
  private final int partitions;
  private final ByteStore store;
  private final ByteStore progress;
  private final PartitionTime time;
  private final AuditOutput output;
  private final AccuracyFigures accuracy;
  private final Packer packer = new Packer();
  private final Map<String, BucketAudit> inMemory = new HashMap<>();
  private final Set<BucketAudit> touched = new LinkedHashSet<>();
  private final BucketTimers timers;

  /**
   * Buckets whose correction waits for the one before to be confirmed, by when it waits no more.
   */
  private final PriorityQueue<Waiting> waiting =
      new PriorityQueue<>(
          Comparator.comparingLong(Waiting::untilMillis).thenComparing(Waiting::bucket));

  private @Nullable CacheRestoration restoration;

  /** Where the round goes on that looks at every bucket after a start; null when it is over. */
  private byte @Nullable [] recoverFrom = FIRST_KEY;

  private record Waiting(long untilMillis, String bucket) {}

  /**
   * Goes on where the stores say.
   *
   * @param store holds the tracks
   * @param progress holds the accuracy and a restoration that is going on
   */
  public BucketReconciler(
      int partition,
      int partitions,
      ByteStore store,
      ByteStore progress,
      PartitionTime time,
      AuditOutput output) {
    this.partition = partition;
    this.partitions = partitions;
    this.store = store;
    this.progress = progress;
    this.time = time;
    this.output = output;
    this.accuracy = new AccuracyFigures(progress);
    this.timers = new BucketTimers(store);
    if (store.scan(FIRST_KEY, BEHIND_LAST_KEY, 1).isEmpty()) {
      this.recoverFrom = null;
    }
    this.restoration = CacheRestoration.load(progress);
  }

  /** Publishes how right the cache's decisions were, if that has changed. */
  public void publishAccuracy(long asOfEpochMillis) {
    if (accuracy.hasChanged()) {
      output.accuracy(accuracy.figures(partition, asOfEpochMillis), asOfEpochMillis);
    }
  }

  /** Takes what a call was charged, or refused. */
  public void take(CallEvent call) {
    for (Charge charge : call.charges()) {
      take(charge, call.cost(), call.decidedAtEpochMillis());
    }
  }

  private void take(Charge charge, long askedTokens, long atMillis) {
    Stamp stamp = charge.stamp();
    BucketAudit track = find(charge.bucket());
    BucketLimit limit = charge.limit();
    if (limit == null) {
      if (track == null) {
        return; // a record from before limits were recorded
      }
      limit = track.limit;
    }
    AccuracyFigures.Policy figures = accuracy.ofBucket(charge.bucket());
    if (stamp == null) {
      figures.outageTokens += charge.cost();
    } else {
      figures.decided++;
    }
    if (track == null) {
      track =
          stamp == null
              ? BucketAudit.ofUnstamped(charge, limit, atMillis)
              : BucketAudit.ofStamp(
                  charge,
                  limit,
                  stamp,
                  atMillis,
                  time.mayLackRecordsSince(stamp.epoch() / MICROS_PER_MILLI));
      inMemory.put(track.bucket, track);
      figures.driftNowTokens += track.openDriftTokens;
      figures.outageOpenTokens += track.openOutageTokens;
      taken(track, atMillis);
      return;
    }
    track.follow(limit, stamp, charge.cost(), atMillis);
    long driftBefore = track.openDriftTokens;
    long outageBefore = track.openOutageTokens;
    if (stamp == null) {
      track.takeUnstamped(charge.cost(), atMillis);
    } else {
      takeStamped(track, stamp, charge, limit, askedTokens, atMillis, figures);
    }
    figures.driftNowTokens += track.openDriftTokens - driftBefore;
    figures.outageOpenTokens += track.openOutageTokens - outageBefore;
    taken(track, atMillis);
  }

  /**
   * A record was taken. While a cache is being restored its bucket is told again: the call may have
   * been decided before the loss, and its bucket been told before the record came.
   */
  private void taken(BucketAudit track, long atMillis) {
    if (restoration != null && track.pendingCause == null) {
      track.disturb(Cause.RESTORE, 0, atMillis);
    }
    touch(track);
  }

  /**
   * Moves the buckets of a call by what it turned out to cost. The cache has not seen the
   * difference, so that it is no word of the cache's and no outage.
   */
  public void settle(CallEvent settlement) {
    for (Charge charge : settlement.charges()) {
      BucketLimit limit = charge.limit();
      boolean wasCharged = charge.cost() > 0 && settlement.quantity() != 0;
      if (limit != null && wasCharged && !isPeriodOver(limit)) {
        settle(charge, limit, settlement.quantity(), settlement.decidedAtEpochMillis());
      }
    }
  }

  private boolean isPeriodOver(BucketLimit limit) {
    return limit.isOverAt(time.nowEpochMillis() * MICROS_PER_MILLI);
  }

  private void settle(Charge charge, BucketLimit limit, long differenceTokens, long decidedAt) {
    AccuracyFigures.Policy figures = accuracy.ofBucket(charge.bucket());
    BucketAudit track = find(charge.bucket());
    long driftBefore = track == null ? 0 : track.openDriftTokens;
    if (track == null) {
      // not tracked is full: nothing can be given back. Of a quota nothing is known: it was
      // counted before the first record that is left
      if (differenceTokens < 0 || !limit.refills()) {
        return;
      }
      track = BucketAudit.ofFull(charge.bucket(), limit, decidedAt);
      inMemory.put(track.bucket, track);
    }
    track.settle(differenceTokens, decidedAt);
    figures.driftNowTokens += track.openDriftTokens - driftBefore;
    touch(track);
  }

  private void takeStamped(
      BucketAudit track,
      Stamp stamp,
      Charge charge,
      BucketLimit limit,
      long askedTokens,
      long atMillis,
      AccuracyFigures.Policy figures) {
    boolean unconfirmed = track.confirmedVersion < track.version;
    long stampedBeforeMillis = track.stampedAtMillis();
    switch (track.takeStamped(stamp, limit, charge.cost(), askedTokens, atMillis)) {
      case RIGHT -> {}
      case WRONGLY_ADMITTED -> figures.wronglyAdmitted++;
      case WRONGLY_DENIED -> figures.wronglyDenied++;
    }
    boolean isWatched = atMillis - stampedBeforeMillis <= DELAY_RESOLUTION_MILLIS;
    if (unconfirmed
        && track.confirmedVersion == track.version
        && track.awaitedSinceMillis > 0
        && isWatched) {
      accuracy.countDelay(Math.max(0, atMillis - track.awaitedSinceMillis));
    }
    if (track.isAgreed()) {
      track.openDriftTokens = 0;
      track.openOutageTokens = 0;
      track.forgoneTokens = 0;
    } else if (track.pendingCause == null
        && isLongerAgo(track.publishedAtMillis, REPEAT_AFTER_MILLIS)) {
      track.disturb(Cause.RESTORE, 0, atMillis);
    }
  }

  private void touch(BucketAudit track) {
    touched.add(track);
    if (track.timerAtMillis == 0 || nextLookMillis(track) < track.timerAtMillis) {
      setTimer(track);
    }
  }

  private void setTimer(BucketAudit track) {
    timers.remove(track.bucket, track.timerAtMillis);
    track.timerAtMillis = nextLookMillis(track);
    timers.set(track.bucket, track.timerAtMillis);
  }

  private long nextLookMillis(BucketAudit track) {
    long watermark = Math.max(0, time.watermarkEpochMillis() - GAP_GRACE_MILLIS);
    return track.nextLookMillis(watermark, KEPT_AFTER_FULL_MILLIS) + GAP_GRACE_MILLIS;
  }

  /**
   * Begins to tell all live buckets again; a restoration under way is replaced. Calls decided
   * before the loss are dated before the node's word of it, which is by the cache's clock, too. A
   * word that is further ahead than clocks differ is of a node that does not know that clock.
   */
  public void beginRestoration(CacheLoss loss) {
    long lostAt =
        time.isBrokerAhead()
            ? time.newestNodeEpochMillis() + WORD_AGE_MILLIS
            : Math.max(
                time.nowEpochMillis(),
                Math.min(loss.foundAtEpochMillis(), time.nowEpochMillis() + CLOCKS_DIFFER_MILLIS));
    restoration = new CacheRestoration(loss.generation(), lostAt);
    restoration.save(progress);
  }

  /** Publishes the corrections that are due, and writes what was touched. */
  public void save() {
    publishDue(false);
    for (BucketAudit track : touched) {
      store.put(key(track.bucket), BucketAuditCodec.encode(track, packer));
    }
    touched.clear();
    accuracy.save();
    if (inMemory.size() > MAX_TRACKS_IN_MEMORY) {
      inMemory.clear();
    }
  }

  /** What is touched is due at once or waits; what waits is looked at when its time has come. */
  private void publishDue(boolean all) {
    for (BucketAudit track : List.copyOf(touched)) {
      publishOrWait(track);
    }
    for (Waiting first = waiting.peek();
        first != null && (all || isOver(first));
        first = waiting.peek()) {
      waiting.remove();
      BucketAudit track = find(first.bucket());
      Cause cause = track == null ? null : track.pendingCause;
      if (track != null && cause != null) {
        publish(track, cause);
      }
    }
  }

  private void publishOrWait(BucketAudit track) {
    Cause cause = track.pendingCause;
    long waitsUntil = track.publishedAtMillis + UNCONFIRMED_INTERVAL_MILLIS;
    if (cause == null) {
      return;
    }
    if (track.confirmedVersion == track.version
        || isLongerAgo(track.publishedAtMillis, UNCONFIRMED_INTERVAL_MILLIS - 1)) {
      publish(track, cause);
    } else if (track.waitsUntilMillis != waitsUntil) {
      track.waitsUntilMillis = waitsUntil;
      waiting.add(new Waiting(waitsUntil, track.bucket));
    }
  }

  /**
   * Whether a moment is past by more than so much; one ahead was told by a clock that was wrong.
   */
  private boolean isLongerAgo(long epochMillis, long millis) {
    return Math.abs(time.nowEpochMillis() - epochMillis) > millis;
  }

  private boolean isOver(Waiting one) {
    return one.untilMillis() <= time.nowEpochMillis()
        || one.untilMillis() > time.nowEpochMillis() + 2 * UNCONFIRMED_INTERVAL_MILLIS;
  }

  private void publish(BucketAudit track, Cause cause) {
    if (track.limit.capacityTokens() == 0) {
      // only refusals by a policy that denies are known: not what the bucket holds, nor of how much
      track.pendingCause = null;
      touched.add(track);
      return;
    }
    Correction correction = track.correct(cause, time.nowEpochMillis());
    accuracy.countCorrection(cause);
    output.correction(correction, time.nowEpochMillis());
    touched.add(track);
  }

  /**
   * Looks at the buckets whose time has come: finds charges that were never recorded, and forgets
   * buckets that are over. After a start every bucket is looked at once, since it was not kept in
   * order whose correction is due.
   *
   * @return true when none is left to look at now
   */
  public boolean sweep(Budget budget) {
    while (!budget.isSpent()) {
      boolean isLast = recoverFrom == null ? lookAtDue() : recover(recoverFrom);
      save();
      if (isLast) {
        return true;
      }
    }
    return false;
  }

  private boolean lookAtDue() {
    List<BucketTimers.Timer> due = timers.due(time.watermarkEpochMillis(), CHUNK_ROWS);
    for (BucketTimers.Timer timer : due) {
      BucketAudit track = find(timer.bucket());
      if (track != null && track.timerAtMillis == timer.atMillis()) {
        look(track);
      }
    }
    return due.size() < CHUNK_ROWS;
  }

  private boolean recover(byte[] from) {
    List<ByteStore.Entry> rows = store.scan(from, BEHIND_LAST_KEY, CHUNK_ROWS);
    for (ByteStore.Entry row : rows) {
      BucketAudit track = trackOf(row);
      if (track.pendingCause != null) {
        inMemory.put(track.bucket, track);
        touch(track);
      }
    }
    boolean isLast = rows.size() < CHUNK_ROWS;
    recoverFrom = isLast ? null : ByteStore.behind(rows.get(rows.size() - 1).key());
    return false;
  }

  private void look(BucketAudit track) {
    long watermark = Math.max(0, time.watermarkEpochMillis() - GAP_GRACE_MILLIS);
    if (track.isOver(watermark, KEPT_AFTER_FULL_MILLIS)) {
      forget(track);
      return;
    }
    if (track.pendingCause != null || track.needsCheck(watermark)) {
      check(track, watermark);
    }
    touched.add(track);
    setTimer(track);
  }

  private void check(BucketAudit track, long watermark) {
    long driftBefore = track.openDriftTokens;
    long wrongRefusals = track.check(watermark);
    long found = track.openDriftTokens - driftBefore;
    if (found != 0 || wrongRefusals != 0) {
      AccuracyFigures.Policy figures = accuracy.ofBucket(track.bucket);
      figures.wronglyDenied += wrongRefusals;
      figures.driftNowTokens += found;
    }
  }

  private void forget(BucketAudit track) {
    if (track.openDriftTokens != 0 || track.openOutageTokens != 0) {
      AccuracyFigures.Policy figures = accuracy.ofBucket(track.bucket);
      figures.driftNowTokens -= track.openDriftTokens;
      figures.outageOpenTokens -= track.openOutageTokens;
    }
    inMemory.remove(track.bucket);
    touched.remove(track);
    store.delete(key(track.bucket));
  }

  /**
   * Goes on with a restoration: tells live buckets, then, when the watermark has passed the loss,
   * that all are told.
   *
   * @return true when nothing is left to do now
   */
  public boolean continueRestoration(Budget budget) {
    CacheRestoration going = restoration;
    if (going == null) {
      return true;
    }
    if (recoverFrom != null) {
      return false; // which corrections wait is not known again yet
    }
    while (!going.toldAll) {
      if (budget.isSpent()) {
        return false;
      }
      tellSome(going);
    }
    if (time.watermarkEpochMillis() <= going.lostAtMillis) {
      return true;
    }
    publishDue(true);
    save();
    output.restored(
        new CacheRestored(
            going.generation, partition, partitions, going.buckets, time.nowEpochMillis()),
        time.nowEpochMillis());
    going.delete(progress);
    restoration = null;
    return true;
  }

  private void tellSome(CacheRestoration going) {
    List<ByteStore.Entry> rows = store.scan(going.next(), BEHIND_LAST_KEY, CHUNK_ROWS);
    for (ByteStore.Entry row : rows) {
      BucketAudit track = trackOf(row);
      if (track.isUsed(going.lostAtMillis)) {
        inMemory.put(track.bucket, track);
        publish(track, Cause.RESTORE);
        going.buckets++;
      }
      going.toldThrough = track.bucket;
    }
    going.toldAll = rows.size() < CHUNK_ROWS;
    save();
    going.save(progress);
  }

  private @Nullable BucketAudit find(String bucket) {
    BucketAudit track = inMemory.get(bucket);
    if (track != null) {
      return track;
    }
    byte[] bytes = store.get(key(bucket));
    if (bytes == null) {
      return null;
    }
    track = BucketAuditCodec.decode(bytes);
    inMemory.put(bucket, track);
    return track;
  }

  private BucketAudit trackOf(ByteStore.Entry row) {
    BucketAudit known = inMemory.get(bucketOf(row.key()));
    return known == null ? BucketAuditCodec.decode(row.value()) : known;
  }

  private static String bucketOf(byte[] key) {
    return new String(key, 1, key.length - 1, StandardCharsets.UTF_8);
  }

  /** The key of a bucket in the store. */
  static byte[] key(String bucket) {
    return ("b" + bucket).getBytes(StandardCharsets.UTF_8);
  }
}
