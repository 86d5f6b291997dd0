// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.aggregator.state.Packer;
import io.weir.aggregator.state.Unpacker;
import io.weir.limits.BucketLimit;
import io.weir.limits.LimitAlgorithm;
import io.weir.limits.correction.Correction.Cause;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Encodes and decodes the stored form of a bucket's audit, version 10. Stateless. */
public final class BucketAuditCodec {
  private static final int VERSION = 10;

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
   * @throws IllegalStateException when the value has another version
   */
  public static BucketAudit decode(byte[] bytes) {
    return BucketAudit.of(state(bytes));
  }

  private static BucketAuditState state(byte[] bytes) {
    Unpacker value = Unpacker.ofVersion(bytes, VERSION);
    String bucket = value.text();
    BucketLimit limit = LimitAlgorithm.ofWireName(value.text()).read(name -> value.integer());
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
   * @throws IllegalStateException when the value has another version
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

  private static GapCheck.State gapCheck(Unpacker value) {
    return new GapCheck.State(
        value.integer(),
        value.integer(),
        value.integer(),
        value.integer(),
        value.integer(),
        value.integer(),
        value.integer(),
        value.integer(),
        value.integer(),
        value.integer(),
        value.integer(),
        value.integer(),
        value.integer());
  }

  private static void pack(Packer value, FullTimes times) {
    value.integer(times.size());
    for (int i = 0; i < times.size(); i++) {
      value.integer(times.beginMicros(i)).integer(times.endMicros(i));
    }
  }

  /** Decodes the members after the two times. */
  private static TimeToFull.State timeToFull(Unpacker value, long cacheMicros, long trueMicros) {
    long owedSinceMicros = value.integer();
    long owedSinceConfirmedMicros = value.integer();
    long owedUntilMicros = value.integer();
    long clockMicros = value.integer();
    FullTimes fullTimes = new FullTimes();
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
    return new EpochAccount.State(
        value.integer(),
        value.integer(),
        value.integer(),
        value.integer(),
        value.integer(),
        value.integer(),
        value.integer(),
        value.integer(),
        value.integer(),
        value.integer(),
        value.integer(),
        value.integer(),
        value.integer(),
        value.integer());
  }
}
