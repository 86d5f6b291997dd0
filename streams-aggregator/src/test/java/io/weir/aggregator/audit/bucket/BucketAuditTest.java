// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.aggregator.state.Packer;
import io.weir.limits.BucketLimit;
import io.weir.limits.FixedWindowLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.correction.Correction;
import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.model.Charge;
import io.weir.topics.model.Stamp;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

/** The result of each step of the audit of one bucket. A token refills in a second. */
final class BucketAuditTest {
  private static final long T = 1_700_000_000_000L;
  private static final long EPOCH = (T - 1_000) * 1_000;
  private static final String BUCKET = "w1:{4:acme}:5:burst";
  private static final BucketLimit LIMIT = new TokenBucketLimit(10, 1, 1_000_000);

  /** A stored audit. A difference means that state must be migrated. */
  private static final String VERSION_10 =
      """
      142677313a7b343a61636d657d3a353a627572737418746f6b656e2d6275636b6574c8010280897a8080f2818389\
      85065080c2c9b183898506420380b4fb948389850604c08db70180efabb68389850680c2c9b18389850604c80180\
      c2c9b1838985063c0280d89bc8fb8885061880fcc2a28289850612000000000080fcc2a28289850600000000809c\
      8ebb83898506c0c4b3bf8389850680b9cfb08389850672080606676170808eb1fef962b0feb0fef962e0eeb0fef9\
      620d0a0cf2b3b4fef9628095e7ac838985064c3e0380c8d007feffffffffffffffff01c096b102c09fab03feffff\
      ffffffffffff01feffffffffffffffff010204c08db701e0c65bc0d6b70180c2c9b18389850680c2c9b183898506\
      0480a6adf88289850680d38ffd828985068089ec82838985068092e68383898506""";

  private final BucketAudit audit =
      BucketAudit.ofStamp(
          stamped(0, 1, 1, T + 1_000),
          LIMIT,
          new Stamp(EPOCH, 0, 1, (T + 1_000) * 1_000),
          T,
          false);

  @Test
  void take_stampThatAgrees_changesNothing() {
    AuditEffect effect = take(T + 100, stamped(0, 1, 2, T + 2_000));

    assertTrue(effect.isNothing());
    assertTrue(effect.confirmedAfterMillis() < 0);
    assertNull(audit.corrections().dueCause());
  }

  @Test
  void take_unstampedCharge_addsOutageAndDrift_andMakesACorrectionDue() {
    AuditEffect effect = take(T + 100, new Charge(BUCKET, 3, LIMIT, null));

    assertEquals(AuditEffect.ofDifferences(3, 3), effect);
    assertEquals(Cause.UNSTAMPED, audit.corrections().dueCause());
  }

  @Test
  void take_admittedBeyondTheTrueBucket_isJudgedWrong() {
    take(T + 100, new Charge(BUCKET, 9, LIMIT, null));

    assertEquals(1, take(T + 200, stamped(0, 1, 2, T + 2_000)).wronglyAdmitted());
  }

  @Test
  void take_stampThatShowsTheCorrection_closesTheDrift_andGivesItsDelay() {
    take(T + 100, new Charge(BUCKET, 3, LIMIT, null));
    assertNotNull(audit.publish(Cause.UNSTAMPED, T + 150));

    AuditEffect effect = take(T + 400, stamped(1, 1, 2, T + 5_000));

    assertEquals(-3, effect.driftTokens());
    assertEquals(-3, effect.outageTokens());
    assertEquals(300, effect.confirmedAfterMillis());
  }

  @Test
  void publish_advancesTheVersion_andClearsTheDueCause() {
    take(T + 100, new Charge(BUCKET, 3, LIMIT, null));

    Correction correction = audit.publish(Cause.UNSTAMPED, T + 150);

    assertNotNull(correction);
    assertEquals(1, correction.version());
    assertEquals((T + 4_000) * 1_000, correction.fullAtEpochMicros());
    assertNull(audit.corrections().dueCause());
  }

  @Test
  void secondCorrection_waitsASecondForTheFirst() {
    take(T + 100, new Charge(BUCKET, 3, LIMIT, null));
    audit.publish(Cause.UNSTAMPED, T + 150);
    take(T + 200, new Charge(BUCKET, 1, LIMIT, null));

    assertFalse(audit.corrections().mayPublish(T + 1_149));
    assertTrue(audit.corrections().mayPublish(T + 1_150));
    assertEquals(T + 1_150, audit.corrections().waitsUntilMillis());
    assertTrue(audit.corrections().beginWaiting());
    assertFalse(audit.corrections().beginWaiting());
  }

  @Test
  void publish_ofABucketOfCapacityZero_isNothing() {
    BucketLimit deny = new TokenBucketLimit(0, 1, 1_000_000);
    BucketAudit denied = BucketAudit.ofUnstamped(new Charge(BUCKET, 0, deny, null), deny, T);

    assertNull(denied.publish(Cause.UNSTAMPED, T));
    assertNull(denied.corrections().dueCause());
  }

  @Test
  void check_pastTheNewestStamp_givesUpUnrecordedCharges() {
    take(T + 100, stamped(0, 1, 7, T + 7_000));
    long behind = T + 101;
    audit.check(behind); // of the first stamp

    assertEquals(AuditEffect.ofGaps(5, 0), audit.check(behind));
    assertEquals(Cause.GAP, audit.corrections().dueCause());
  }

  @Test
  void settle_refund_isDrift() {
    assertEquals(AuditEffect.ofDifferences(1, 0), audit.settle(-1, T));
    assertEquals(Cause.SETTLE, audit.corrections().dueCause());
  }

  /** Regression: the newest correction was dropped, and the period ended with a token too few. */
  @Test
  void quotaBeginsAnEpoch_beforeItsNewestCorrectionWasShown_andMakesAnotherDue() {
    long end = (T + 60_000) * 1_000;
    BucketLimit quota = new FixedWindowLimit(10, end, 60_000_000);
    Stamp first = new Stamp(EPOCH, 0, 1, end);
    BucketAudit used =
        BucketAudit.ofStamp(new Charge(BUCKET, 1, quota, first), quota, first, T, false);
    used.settle(-1, T);
    used.publish(Cause.SETTLE, T + 100);

    Stamp next = new Stamp((T + 200) * 1_000, 0, 2, end);
    used.take(new Charge(BUCKET, 2, quota, next), quota, 2, T + 300, T + 300);

    assertEquals(Cause.FRESH_EPOCH, used.corrections().dueCause());
    Correction correction = used.publish(Cause.FRESH_EPOCH, T + 400);
    assertNotNull(correction);
    assertEquals(2, correction.totalTokens());
    assertEquals(2, correction.chargedTokens());
  }

  @Test
  void version10_restoredAndStoredAgain_isTheSameBytes() {
    assertEquals(VERSION_10, storedAgain(VERSION_10));
  }

  @Test
  void otherVersion_isRefused() {
    byte[] bytes = new Packer().integer(9).text("w1:{4:acme}:5:burst").toBytes();

    String message =
        assertThrows(IllegalStateException.class, () -> BucketAudit.decode(bytes)).getMessage();
    assertEquals("a stored value has version 9, but this program reads only version 10", message);
  }

  @Test
  void snapshot_isWhatTheStoredValueSays() {
    BucketSnapshot expected =
        new BucketSnapshot(
            "w1:{4:acme}:5:burst",
            new TokenBucketLimit(100, 1, 1_000_000),
            1_700_000_000_000_000L,
            4,
            3,
            40,
            8,
            57,
            1_700_000_060_000_000L,
            1_700_000_064_500_000L,
            1_700_000_050_000L,
            1_700_000_050_000_000L);

    assertEquals(expected, BucketAudit.decode(bytes(VERSION_10)).snapshot());
  }

  private AuditEffect take(long at, Charge charge) {
    return audit.take(charge, LIMIT, Math.max(1, charge.cost()), at, at);
  }

  private static Charge stamped(long version, long cost, long charged, long fullAt) {
    return new Charge(BUCKET, cost, LIMIT, new Stamp(EPOCH, version, charged, fullAt * 1_000));
  }

  private static byte[] bytes(String hex) {
    return HexFormat.of().parseHex(hex);
  }

  private static String storedAgain(String hex) {
    return HexFormat.of().formatHex(BucketAudit.decode(bytes(hex)).encode(new Packer()));
  }
}
