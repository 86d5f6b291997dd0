// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.aggregator.state.Packer;
import io.weir.aggregator.state.Unpacker;
import io.weir.limits.BucketLimit;
import io.weir.limits.LimitAlgorithm;
import io.weir.limits.Numbers;
import io.weir.limits.QuotaLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.correction.Correction.Cause;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Encodes and decodes the stored form of a bucket's audit. Writes version 10 and reads versions 3
 * to 10. Stateless.
 */
public final class BucketAuditCodec {
  private static final int VERSION = 10;

  /** The newest version that lacks the cache's clock in the newest stamp. */
  private static final int VERSION_WITHOUT_CLOCK = 9;

  /**
   * An unknown time. For a credit: nothing counts as refilled by it. For charges in flight: they
   * are in flight until the next checks. For a debt: its newest charge has no known time.
   */
  private static final long UNKNOWN_TIME = Long.MAX_VALUE;

  /** An unknown debt since the confirmed correction; it is so large that it bounds nothing. */
  private static final long UNKNOWN_OWED = Numbers.MAX;

  /**
   * The newest version that lacks the time of the newest debt, and the time certainly not refilled.
   */
  private static final int VERSION_WITHOUT_OWED_UNTIL = 8;

  /**
   * The newest version that also lacks the debt since the confirmed correction, and the tokens
   * trusted with the first stamp.
   */
  private static final int VERSION_WITHOUT_CONFIRMED = 7;

  /**
   * The newest version that also lacks the records that arrived after a gap, and until when charges
   * are in flight.
   */
  private static final int VERSION_WITHOUT_ARRIVED = 6;

  /**
   * The newest version that also lacks the least distance from full before charges in flight, and
   * the time of a credit.
   */
  private static final int VERSION_WITHOUT_FLIGHT = 5;

  /**
   * The newest version that also lacks the algorithm of the limit, the full times, and the debt
   * since the newest correction.
   */
  private static final int VERSION_WITHOUT_FULL_TIMES = 4;

  /** The oldest version that can be read; it also lacks the credits of gaps. */
  private static final int VERSION_WITHOUT_CREDITS = 3;

  private BucketAuditCodec() {}

  /** Encodes an audit. */
  public static byte[] encode(BucketAudit audit, Packer value) {
    BucketAuditState state = audit.state();
    value.reset().integer(VERSION).text(state.bucket());
    pack(value, state.limit());
    pack(value, state.epoch());
    value.integer(state.previousEpochs().size());
    state.previousEpochs().forEach(epoch -> pack(value, epoch));
    TimeToFull.State time = state.timeToFull();
    CorrectionCycle.State corrections = state.corrections();
    Cause cause = corrections.dueCause();
    GapCheck.State check = state.gapCheck();
    value
        .integer(time.cacheMicros())
        .integer(time.trueMicros())
        .integer(state.chargedAtMicros())
        .integer(state.totalTokens())
        .integer(corrections.version())
        .integer(corrections.confirmedVersion())
        .text(cause == null ? "" : cause.wireName())
        .integer(corrections.disturbedAtMillis())
        .integer(corrections.awaitedSinceMillis())
        .integer(corrections.publishedAtMillis())
        .integer(corrections.openDriftTokens())
        .integer(corrections.openOutageTokens())
        .integer(state.forgoneTokens())
        .integer(state.timerAtMillis())
        .integer(check.stampedAtMicros())
        .integer(check.chargedTokens())
        .integer(check.exactTokens())
        .integer(check.driftTokens())
        .integer(check.headroomMicros())
        .integer(check.nextHeadroomMicros())
        .integer(check.inFlightHeadroomMicros())
        .integer(check.nextInFlightHeadroomMicros())
        .integer(check.inFlightUntilMicros())
        .integer(check.nextInFlightUntilMicros())
        .integer(check.refusals())
        .integer(check.nextRefusals())
        .integer(check.certainMicros())
        .integer(time.owedSinceMicros())
        .integer(time.owedSinceConfirmedMicros())
        .integer(time.owedUntilMicros())
        .integer(time.clockMicros());
    pack(value, time.fullTimes());
    return value.toBytes();
  }

  /**
   * Decodes an audit.
   *
   * @throws IllegalStateException when the value has a version that is not read
   */
  public static BucketAudit decode(byte[] bytes) {
    return BucketAudit.of(state(bytes));
  }

  private static BucketAuditState state(byte[] bytes) {
    Unpacker value = Unpacker.ofVersions(bytes, VERSION_WITHOUT_CREDITS, VERSION);
    String bucket = value.text();
    BucketLimit limit = limit(value);
    EpochAccount.State epoch = epoch(value);
    List<EpochAccount.State> previousEpochs = new ArrayList<>();
    for (int left = value.count(); left > 0; left--) {
      previousEpochs.add(epoch(value));
    }
    long cacheMicros = value.integer();
    long trueMicros = value.integer();
    long chargedAtMicros = value.integer();
    long totalTokens = value.integer();
    CorrectionCycle.State corrections =
        new CorrectionCycle.State(
            value.integer(),
            value.integer(),
            cause(value.text()),
            value.integer(),
            value.integer(),
            value.integer(),
            value.integer(),
            value.integer());
    long forgoneTokens = value.integer();
    long timerAtMillis = value.integer();
    GapCheck.State check = gapCheck(value);
    return new BucketAuditState(
        bucket,
        limit,
        epoch,
        previousEpochs,
        timeToFull(value, cacheMicros, trueMicros),
        chargedAtMicros,
        totalTokens,
        corrections,
        forgoneTokens,
        timerAtMillis,
        check);
  }

  /**
   * Decodes a stored value for a report.
   *
   * @throws IllegalStateException when the value has a version that is not read
   */
  public static BucketSnapshot snapshot(byte[] bytes) {
    return decode(bytes).snapshot();
  }

  private static @Nullable Cause cause(String wireName) {
    return wireName.isEmpty() ? null : Cause.ofWireName(wireName);
  }

  private static void pack(Packer value, BucketLimit limit) {
    value.text(limit.algorithm().wireName());
    limit.writeTo((name, member) -> value.integer(member));
  }

  private static BucketLimit limit(Unpacker value) {
    if (value.version() > VERSION_WITHOUT_FULL_TIMES) {
      return LimitAlgorithm.ofWireName(value.text()).read(name -> value.integer());
    }
    long capacity = value.integer();
    long refillTokens = value.integer();
    long micros = value.integer();
    return refillTokens == 0
        ? new QuotaLimit(capacity, micros)
        : new TokenBucketLimit(capacity, refillTokens, micros);
  }

  private static GapCheck.State gapCheck(Unpacker value) {
    boolean hasFlight = value.version() > VERSION_WITHOUT_FLIGHT;
    boolean hasTimes = value.version() > VERSION_WITHOUT_ARRIVED;
    boolean hasCertain = value.version() > VERSION_WITHOUT_OWED_UNTIL;
    return new GapCheck.State(
        value.integer(),
        value.integer(),
        value.integer(),
        value.integer(),
        value.integer(),
        value.integer(),
        hasFlight ? value.integer() : GapCheck.UNBOUNDED,
        hasFlight ? value.integer() : GapCheck.UNBOUNDED,
        hasTimes ? value.integer() : UNKNOWN_TIME,
        hasTimes ? value.integer() : UNKNOWN_TIME,
        value.integer(),
        value.integer(),
        hasCertain ? value.integer() : 0);
  }

  private static void pack(Packer value, FullTimes times) {
    value.integer(times.size());
    for (int i = 0; i < times.size(); i++) {
      value.integer(times.beginMicros(i)).integer(times.endMicros(i));
    }
  }

  /**
   * Decodes the members after the two times. For an old version, their whole difference counts as
   * debt.
   */
  private static TimeToFull.State timeToFull(Unpacker value, long cacheMicros, long trueMicros) {
    FullTimes fullTimes = new FullTimes();
    if (value.version() <= VERSION_WITHOUT_FULL_TIMES) {
      long owedSinceMicros = Math.max(0, trueMicros - cacheMicros);
      return new TimeToFull.State(
          cacheMicros, trueMicros, owedSinceMicros, owedSinceMicros, UNKNOWN_TIME, 0, fullTimes);
    }
    long owedSinceMicros = value.integer();
    long owedSinceConfirmedMicros =
        value.version() > VERSION_WITHOUT_CONFIRMED ? value.integer() : UNKNOWN_OWED;
    long owedUntilMicros =
        value.version() > VERSION_WITHOUT_OWED_UNTIL ? value.integer() : UNKNOWN_TIME;
    long clockMicros = value.version() > VERSION_WITHOUT_CLOCK ? value.integer() : 0;
    for (int left = value.count(); left > 0; left--) {
      fullTimes.restore(value.integer(), value.integer());
    }
    return new TimeToFull.State(
        cacheMicros,
        trueMicros,
        owedSinceMicros,
        owedSinceConfirmedMicros,
        owedUntilMicros,
        clockMicros,
        fullTimes);
  }

  private static void pack(Packer value, EpochAccount.State epoch) {
    value
        .integer(epoch.epoch())
        .integer(epoch.chargedTokens())
        .integer(epoch.stampedAtMicros())
        .integer(epoch.exactTokens())
        .integer(epoch.driftTokens())
        .integer(epoch.wentBackAtMicros())
        .integer(epoch.gapTokens())
        .integer(epoch.creditedMicros())
        .integer(epoch.creditedFromMicros())
        .integer(epoch.gapUntilMicros())
        .integer(epoch.arrivedTokens())
        .integer(epoch.trustedTokens())
        .integer(epoch.trustedAtMicros())
        .integer(epoch.trustedLeftTokens());
  }

  private static EpochAccount.State epoch(Unpacker value) {
    boolean hasCredits = value.version() > VERSION_WITHOUT_CREDITS;
    boolean hasArrived = value.version() > VERSION_WITHOUT_ARRIVED;
    boolean hasTrusted = value.version() > VERSION_WITHOUT_CONFIRMED;
    long epoch = value.integer();
    long chargedTokens = value.integer();
    long stampedAtMicros = value.integer();
    long exactTokens = value.integer();
    long driftTokens = value.integer();
    long wentBackAtMicros = value.integer();
    long gapTokens = hasCredits ? value.integer() : 0;
    return new EpochAccount.State(
        epoch,
        chargedTokens,
        stampedAtMicros,
        exactTokens,
        driftTokens,
        wentBackAtMicros,
        gapTokens,
        hasCredits ? value.integer() : 0,
        value.version() > VERSION_WITHOUT_FLIGHT ? value.integer() : UNKNOWN_TIME,
        hasArrived ? value.integer() : stampedAtMicros,
        hasArrived ? value.integer() : gapTokens,
        hasTrusted ? value.integer() : 0,
        hasTrusted ? value.integer() : 0,
        hasTrusted ? value.integer() : 0);
  }
}
