// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import io.weir.aggregator.audit.bucket.AuditEffect;
import io.weir.aggregator.audit.bucket.BucketAudit;
import io.weir.aggregator.audit.bucket.CorrectionCycle;
import io.weir.aggregator.state.Budget;
import io.weir.aggregator.state.ByteStore;
import io.weir.limits.BucketLimit;
import io.weir.limits.correction.Correction;
import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.model.CacheLoss;
import io.weir.topics.model.CacheRestored;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.Stamp;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The reconciliation of the decision cache with the records of one partition. The reconciler audits
 * every live bucket, and publishes a correction where cache and records differ. The reconciler
 * deletes the audit of a bucket when the bucket is full and the bucket's newest stamp has been
 * checked. So the size of the state depends on the number of buckets in use. Not thread-safe.
 */
public final class BucketReconciler {
  /**
   * Time for which an audit is kept after its bucket is full, in milliseconds. The cache keeps a
   * full bucket for less than this time. So no audit begins in the middle of an epoch.
   */
  static final long KEPT_AFTER_FULL_MILLIS = 15_000;

  /**
   * Delay of the gap watermark behind the partition's watermark, in milliseconds. The delay is
   * necessary because a node that has just started affects the watermark only after the node's
   * first batch has arrived.
   */
  static final long GAP_GRACE_MILLIS = 2_000;

  /** Maximum difference between the clocks of the cache and of a broker, in milliseconds. */
  private static final long CLOCKS_DIFFER_MILLIS = 10_000;

  /**
   * Maximum lag of the newest low watermark behind the current time, in milliseconds. If the
   * broker's time is implausible, the newest low watermark is used instead.
   */
  private static final long NODE_LAG_MILLIS = 60_000;

  private static final long MICROS_PER_MILLI = 1_000;
  private static final int CHUNK_ROWS = 256;

  private final int partition;
  private final int partitions;
  private final ByteStore progress;
  private final PartitionTime time;
  private final AuditOutput output;
  private final AccuracyFigures accuracy;
  private final AuditStore audits;
  private final BucketTimers timers;
  private final WaitingCorrections waiting = new WaitingCorrections();

  /** The audits that have changed since the last publication. */
  private final Set<BucketAudit> touched = new LinkedHashSet<>();

  /** The other audits whose changes are not stored yet. */
  private final Set<BucketAudit> unsaved = new LinkedHashSet<>();

  private @Nullable CacheRestoration restoration;

  /** Key at which the first sweep over all buckets continues; null when this sweep is complete. */
  private byte @Nullable [] recoverFrom;

  /**
   * Creates a reconciler that continues from the stored state.
   *
   * @param partition the partition
   * @param partitions the number of partitions
   * @param buckets the store of audits and timers
   * @param progress the store of accuracy figures and of a restoration in progress
   * @param time the partition's times
   * @param output receives corrections, "restored" markers and accuracy figures
   */
  public BucketReconciler(
      int partition,
      int partitions,
      ByteStore buckets,
      ByteStore progress,
      PartitionTime time,
      AuditOutput output) {
    this.partition = partition;
    this.partitions = partitions;
    this.progress = progress;
    this.time = time;
    this.output = output;
    this.accuracy = new AccuracyFigures(progress);
    this.audits = new AuditStore(buckets);
    this.timers = new BucketTimers(buckets);
    this.recoverFrom = audits.isEmpty() ? null : AuditStore.firstKey();
    this.restoration = CacheRestoration.load(progress);
  }

  /** Processes the charges of a call. A charge of 0 means that the bucket denied the call. */
  public void take(CallEvent call) {
    for (Charge charge : call.charges()) {
      take(charge, call.cost(), call.decidedAtEpochMillis());
    }
  }

  private void take(Charge charge, long requestedTokens, long atMillis) {
    BucketAudit audit = audits.find(charge.bucket());
    BucketLimit limit = charge.limit();
    if (limit == null) {
      if (audit == null) {
        return; // early versions of Weir recorded no limits
      }
      limit = audit.limit();
    }
    AccuracyFigures.Policy figures = accuracy.ofBucket(charge.bucket());
    figures.count(charge);
    if (audit == null) {
      audit = begin(charge, limit, atMillis);
      CorrectionCycle corrections = audit.corrections();
      figures.add(
          AuditEffect.ofDifferences(corrections.openDriftTokens(), corrections.openOutageTokens()));
    } else {
      AuditEffect effect =
          audit.take(charge, limit, requestedTokens, atMillis, time.nowEpochMillis());
      figures.add(effect);
      if (effect.confirmedAfterMillis() >= 0) {
        accuracy.countDelay(effect.confirmedAfterMillis());
      }
    }
    if (restoration != null) {
      // If the call is older than the loss and its bucket is already published, the bucket needs
      // another correction.
      audit.requireCorrection(atMillis);
    }
    touch(audit);
  }

  private BucketAudit begin(Charge charge, BucketLimit limit, long atMillis) {
    Stamp stamp = charge.stamp();
    BucketAudit audit =
        stamp == null
            ? BucketAudit.ofUnstamped(charge, limit, atMillis)
            : BucketAudit.ofStamp(
                charge,
                limit,
                stamp,
                atMillis,
                time.mayLackRecordsSince(stamp.epoch() / MICROS_PER_MILLI));
    audits.keep(audit);
    return audit;
  }

  /**
   * Processes a settlement, in which the actual cost of a call differs from the charge. The bucket
   * in the cache does not include the difference. The difference has no stamp, and does not count
   * as an outage.
   */
  public void settle(CallEvent settlement) {
    for (Charge charge : settlement.charges()) {
      BucketLimit limit = charge.limit();
      boolean wasCharged = charge.cost() > 0 && settlement.quantity() != 0;
      if (limit != null && wasCharged && !hasPeriodEnded(limit)) {
        settle(charge, limit, settlement.quantity(), settlement.decidedAtEpochMillis());
      }
    }
  }

  private boolean hasPeriodEnded(BucketLimit limit) {
    return limit.isOverAt(time.nowEpochMillis() * MICROS_PER_MILLI);
  }

  private void settle(Charge charge, BucketLimit limit, long differenceTokens, long decidedAt) {
    AccuracyFigures.Policy figures = accuracy.ofBucket(charge.bucket());
    BucketAudit audit = audits.find(charge.bucket());
    if (audit == null) {
      // A bucket without an audit is full, so no tokens can be returned. If the bucket never
      // refills, Kafka has already deleted its records.
      if (differenceTokens < 0 || !limit.refills()) {
        return;
      }
      audit = BucketAudit.ofFull(charge.bucket(), limit, decidedAt);
      audits.keep(audit);
    }
    figures.add(audit.settle(differenceTokens, decidedAt));
    touch(audit);
  }

  private void touch(BucketAudit audit) {
    touched.add(audit);
    if (audit.timerAtMillis() == 0 || nextExaminationMillis(audit) < audit.timerAtMillis()) {
      setTimer(audit);
    }
  }

  private void setTimer(BucketAudit audit) {
    timers.remove(audit.bucket(), audit.timerAtMillis());
    audit.setTimer(nextExaminationMillis(audit));
    timers.set(audit.bucket(), audit.timerAtMillis());
  }

  private long nextExaminationMillis(BucketAudit audit) {
    return audit.nextExaminationMillis(gapWatermarkMillis(), KEPT_AFTER_FULL_MILLIS)
        + GAP_GRACE_MILLIS;
  }

  /**
   * Returns the gap watermark. A charge before the gap watermark counts as never recorded if no
   * record of the charge has arrived.
   */
  private long gapWatermarkMillis() {
    return Math.max(0, time.watermarkEpochMillis() - GAP_GRACE_MILLIS);
  }

  private void publishAndSave() {
    publishDue();
    save();
  }

  /** Stores the changed audits and figures. */
  public void save() {
    keepTouched();
    for (BucketAudit audit : unsaved) {
      audits.save(audit);
    }
    unsaved.clear();
    accuracy.save();
    audits.trim();
  }

  /** Publishes the due corrections. Does not store the changed audits. */
  public void publishDue() {
    publishTouched();
    long now = time.nowEpochMillis();
    for (String next = waiting.nextEnded(now); next != null; next = waiting.nextEnded(now)) {
      publishIfDue(next);
    }
    keepTouched();
  }

  private void publishAllDue() {
    publishTouched();
    for (String next = waiting.next(); next != null; next = waiting.next()) {
      publishIfDue(next);
    }
    keepTouched();
  }

  private void keepTouched() {
    unsaved.addAll(touched);
    touched.clear();
  }

  /** Returns the number of audits whose changes are not stored yet. */
  public int unsaved() {
    return unsaved.size() + touched.size();
  }

  /**
   * Publishes the due correction of each changed bucket. If a correction must wait, adds it to the
   * waiting corrections.
   */
  private void publishTouched() {
    for (BucketAudit audit : List.copyOf(touched)) {
      CorrectionCycle corrections = audit.corrections();
      Cause cause = corrections.dueCause();
      if (cause == null) {
        continue;
      }
      if (corrections.mayPublish(time.nowEpochMillis())) {
        publish(audit, cause);
      } else if (corrections.beginWaiting()) {
        waiting.add(audit.bucket(), corrections.waitsUntilMillis());
      }
    }
  }

  private void publishIfDue(String bucket) {
    BucketAudit audit = audits.find(bucket);
    Cause cause = audit == null ? null : audit.corrections().dueCause();
    if (audit != null && cause != null) {
      publish(audit, cause);
    }
  }

  private void publish(BucketAudit audit, Cause cause) {
    Correction correction = audit.publish(cause, time.nowEpochMillis());
    if (correction != null) {
      accuracy.countCorrection(cause);
      output.correction(correction, time.nowEpochMillis());
    }
    touched.add(audit);
  }

  /**
   * Publishes the accuracy figures if they have changed.
   *
   * @param asOfEpochMillis the time of the newest record that the figures include
   */
  public void publishAccuracy(long asOfEpochMillis) {
    if (accuracy.hasChanged()) {
      output.accuracy(accuracy.figures(partition, asOfEpochMillis), asOfEpochMillis);
    }
  }

  /**
   * Examines the buckets with due timers. Finds charges that were never recorded, and deletes
   * expired audits. After a start, first visits every bucket to find due corrections, because the
   * queue of due corrections is not stored.
   *
   * @return whether all due buckets have been examined
   */
  public boolean sweep(Budget budget) {
    while (!budget.isSpent()) {
      boolean isLast = recoverFrom == null ? examineDue() : recover(recoverFrom);
      publishAndSave();
      if (isLast) {
        return true;
      }
    }
    return false;
  }

  private boolean examineDue() {
    List<BucketTimers.Timer> due = timers.due(time.watermarkEpochMillis(), CHUNK_ROWS);
    for (BucketTimers.Timer timer : due) {
      BucketAudit audit = audits.find(timer.bucket());
      if (audit != null && audit.timerAtMillis() == timer.atMillis()) {
        examine(audit);
      }
    }
    return due.size() < CHUNK_ROWS;
  }

  private boolean recover(byte[] from) {
    List<BucketAudit> chunk = audits.scan(from, CHUNK_ROWS);
    for (BucketAudit audit : chunk) {
      if (audit.corrections().dueCause() != null) {
        audits.keep(audit);
        touch(audit);
      }
    }
    boolean isLast = chunk.size() < CHUNK_ROWS;
    recoverFrom = isLast ? null : AuditStore.keyBehind(chunk.get(chunk.size() - 1).bucket());
    return false;
  }

  private void examine(BucketAudit audit) {
    long watermark = gapWatermarkMillis();
    if (audit.hasExpired(watermark, KEPT_AFTER_FULL_MILLIS)) {
      forget(audit);
      return;
    }
    if (audit.needsCheck(watermark)) {
      AuditEffect found = audit.check(watermark);
      if (!found.isNothing()) {
        accuracy.ofBucket(audit.bucket()).add(found);
      }
    }
    touched.add(audit);
    setTimer(audit);
  }

  private void forget(BucketAudit audit) {
    CorrectionCycle corrections = audit.corrections();
    AuditEffect closed =
        AuditEffect.ofDifferences(-corrections.openDriftTokens(), -corrections.openOutageTokens());
    if (!closed.isNothing()) {
      accuracy.ofBucket(audit.bucket()).add(closed);
    }
    touched.remove(audit);
    unsaved.remove(audit);
    audits.forget(audit);
  }

  /**
   * Begins a restoration, which publishes every live bucket again. The new restoration includes a
   * restoration in progress. Calls that were decided before the loss have times before {@code
   * loss.foundAtEpochMillis()}, because both times are from the cache's clock. If {@code
   * foundAtEpochMillis} is too far in the future, the node did not know the cache's clock. This
   * method then uses an earlier time.
   */
  public void beginRestoration(CacheLoss loss) {
    long now = time.nowEpochMillis();
    long lostAt =
        time.isBrokerAhead()
            ? time.newestNodeEpochMillis() + NODE_LAG_MILLIS
            : Math.max(now, Math.min(loss.foundAtEpochMillis(), now + CLOCKS_DIFFER_MILLIS));
    CacheRestoration begun = CacheRestoration.begin(restoration, loss.generation(), lostAt);
    begun.save(progress);
    restoration = begun;
  }

  /**
   * Continues a restoration. Publishes the live buckets. Publishes the "restored" marker when the
   * watermark has passed the time of the loss.
   *
   * @return whether no work is left at present
   */
  public boolean continueRestoration(Budget budget) {
    CacheRestoration current = restoration;
    if (current == null) {
      return true;
    }
    if (recoverFrom != null) {
      return false; // the first sweep has not found all due corrections yet
    }
    while (!current.isAllPublished()) {
      if (budget.isSpent()) {
        return false;
      }
      publishChunk(current);
    }
    if (time.watermarkEpochMillis() <= current.lostAtMillis()) {
      return true;
    }
    publishAllDue();
    publishAndSave();
    long now = time.nowEpochMillis();
    for (String generation : current.generations()) {
      output.restored(
          new CacheRestored(generation, partition, partitions, current.buckets(), now), now);
    }
    current.delete(progress);
    restoration = null;
    return true;
  }

  private void publishChunk(CacheRestoration current) {
    List<BucketAudit> chunk = audits.scan(current.nextKey(), CHUNK_ROWS);
    for (BucketAudit audit : chunk) {
      if (audit.isUsed(current.lostAtMillis())) {
        audits.keep(audit);
        publish(audit, Cause.RESTORE);
        current.countBucket();
      }
    }
    current.advance(chunk, chunk.size() < CHUNK_ROWS);
    publishAndSave();
    current.save(progress);
  }
}
