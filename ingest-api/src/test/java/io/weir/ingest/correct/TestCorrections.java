// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.weir.limits.BucketKey;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.Correction;

/** Corrections for tests: policy {@code burst} with capacity 100. */
final class TestCorrections {
  static final TokenBucketLimit LIMIT = new TokenBucketLimit(100, 1, 3_600_000_000L);

  private TestCorrections() {}

  static String bucket(String client) {
    return BucketKey.of("burst", client).text();
  }

  static Correction correction(String client, long epoch, long version) {
    return correction(client, epoch, version, 1_000, 2_000);
  }

  static Correction correction(
      String client, long epoch, long version, long disturbedEpochMillis, long asOfEpochMillis) {
    return new Correction(
        bucket(client),
        LIMIT,
        epoch,
        version,
        10,
        1_000_000,
        10,
        0,
        Correction.Cause.GAP,
        disturbedEpochMillis,
        asOfEpochMillis,
        0);
  }

  /** A bucket that lacks a few tokens for some hours to come. */
  static Correction lasting(String client, long version) {
    Correction early = correction(client, 1, version);
    return new Correction(
        early.bucket(),
        early.limit(),
        early.epoch(),
        version,
        early.chargedTokens(),
        (System.currentTimeMillis() + 36_000_000) * 1_000,
        early.totalTokens(),
        early.driftTokens(),
        early.cause(),
        early.disturbedAtEpochMillis(),
        early.asOfEpochMillis(),
        0);
  }

  static CorrectionBacklog.WaitingCorrection correction(
      int partition, long offset, String client, long version) {
    return new CorrectionBacklog.WaitingCorrection(
        partition, offset, new BoundedCorrection(correction(client, 1, version), 100));
  }
}
