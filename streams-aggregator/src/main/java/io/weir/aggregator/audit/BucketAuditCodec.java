// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import io.weir.aggregator.state.Packer;
import io.weir.aggregator.state.Unpacker;
import io.weir.limits.BucketLimit;
import io.weir.limits.LimitAlgorithm;
import io.weir.limits.QuotaLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.correction.Correction.Cause;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The form in which a bucket's track is stored. Stateless. */
public final class BucketAuditCodec {
  private static final int VERSION = 5;

  /** A form of before: without the algorithm, and the times at which the bucket stood full. */
  private static final int VERSION_WITHOUT_FULL_TIMES = 4;

  /** The oldest form that is read: also without what gaps were credited with. */
  private static final int VERSION_WITHOUT_CREDITS = 3;

  private BucketAuditCodec() {}

  static byte[] encode(BucketAudit track, Packer value) {
    value.reset().integer(VERSION).text(track.bucket);
    pack(value, track.limit);
    pack(value, track.line);
    List<EpochAccount> olderLives = track.olderLives.all();
    value.integer(olderLives.size());
    olderLives.forEach(life -> pack(value, life));
    Cause cause = track.pendingCause;
    GapCheck check = track.gapCheck;
    value
        .integer(track.cacheFullAtMicros)
        .integer(track.trueFullAtMicros)
        .integer(track.chargedAtMicros)
        .integer(track.totalTokens)
        .integer(track.version)
        .integer(track.confirmedVersion)
        .text(cause == null ? "" : cause.wireName())
        .integer(track.disturbedAtMillis)
        .integer(track.awaitedSinceMillis)
        .integer(track.publishedAtMillis)
        .integer(track.openDriftTokens)
        .integer(track.openOutageTokens)
        .integer(track.forgoneTokens)
        .integer(track.timerAtMillis)
        .integer(check.stampedAtMicros)
        .integer(check.chargedTokens)
        .integer(check.exactTokens)
        .integer(check.driftTokens)
        .integer(check.headroomMicros)
        .integer(check.nextHeadroomMicros)
        .integer(check.refusals)
        .integer(check.nextRefusals);
    value.integer(track.owedSinceMicros);
    pack(value, track.fullTimes);
    return value.toBytes();
  }

  static BucketAudit decode(byte[] bytes) {
    Unpacker value = Unpacker.ofVersions(bytes, VERSION_WITHOUT_CREDITS, VERSION);
    String bucket = value.text();
    BucketLimit limit = limit(value);
    BucketAudit track = new BucketAudit(bucket, limit, line(value));
    for (int left = value.count(); left > 0; left--) {
      track.olderLives.add(line(value));
    }
    track.cacheFullAtMicros = value.integer();
    track.trueFullAtMicros = value.integer();
    track.chargedAtMicros = value.integer();
    track.totalTokens = value.integer();
    track.version = value.integer();
    track.confirmedVersion = value.integer();
    track.pendingCause = cause(value.text());
    track.disturbedAtMillis = value.integer();
    track.awaitedSinceMillis = value.integer();
    track.publishedAtMillis = value.integer();
    track.openDriftTokens = value.integer();
    track.openOutageTokens = value.integer();
    track.forgoneTokens = value.integer();
    track.timerAtMillis = value.integer();
    GapCheck check = track.gapCheck;
    check.stampedAtMicros = value.integer();
    check.chargedTokens = value.integer();
    check.exactTokens = value.integer();
    check.driftTokens = value.integer();
    check.headroomMicros = value.integer();
    check.nextHeadroomMicros = value.integer();
    check.refusals = value.integer();
    check.nextRefusals = value.integer();
    if (value.version() > VERSION_WITHOUT_FULL_TIMES) {
      track.owedSinceMicros = value.integer();
      for (int left = value.count(); left > 0; left--) {
        track.fullTimes.restore(value.integer(), value.integer());
      }
    } else {
      track.oweBeyondTheCache();
    }
    return track;
  }

  /**
   * What a stored value says.
   *
   * @throws IllegalStateException when the value is of another version
   */
  public static BucketSnapshot standing(byte[] bytes) {
    return decode(bytes).standing();
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

  private static void pack(Packer value, FullTimes times) {
    value.integer(times.size());
    for (int i = 0; i < times.size(); i++) {
      value.integer(times.beginMicros(i)).integer(times.endMicros(i));
    }
  }

  private static void pack(Packer value, EpochAccount line) {
    value
        .integer(line.epoch)
        .integer(line.chargedTokens)
        .integer(line.stampedAtMicros)
        .integer(line.exactTokens)
        .integer(line.driftTokens)
        .integer(line.wentBackAtMicros)
        .integer(line.gapTokens)
        .integer(line.creditedMicros);
  }

  private static EpochAccount line(Unpacker value) {
    EpochAccount line =
        new EpochAccount(
            value.integer(), value.integer(), value.integer(), value.integer(), value.integer());
    line.wentBackAtMicros = value.integer();
    if (value.version() > VERSION_WITHOUT_CREDITS) {
      line.gapTokens = value.integer();
      line.creditedMicros = value.integer();
    }
    return line;
  }
}
