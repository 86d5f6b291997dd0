// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.weir.aggregator.state.Packer;
import io.weir.limits.TokenBucketLimit;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

/** Stored values of each version that is read; a difference means that state has to be migrated. */
final class BucketAuditCodecTest {
  private static final String VERSION_3 =
      """
      062677313a7b343a61636d657d3a353a6275727374c8010280897a8080f281838985065080c2c9b1838985064203\
      80b4fb94838985060480d89bc8fb8885061880fcc2a28289850612000080b0c58ef48885061880d4ece8fa888506\
      180000809c8ebb83898506c0c4b3bf8389850680b9cfb08389850672080606676170808eb1fef962b0feb0fef962\
      e0eeb0fef9620d0a0cf2b3b4fef9628095e7ac838985064c3e0380c8d007feffffffffffffffff010204""";

  private static final String VERSION_3_AS_10 =
      """
      142677313a7b343a61636d657d3a353a627572737418746f6b656e2d6275636b6574c8010280897a8080f2818389\
      85065080c2c9b183898506420380b4fb94838985060000feffffffffffffffff0180c2c9b1838985060000000002\
      80d89bc8fb8885061880fcc2a2828985061200000000feffffffffffffffff0180fcc2a28289850600000000809c\
      8ebb83898506c0c4b3bf8389850680b9cfb08389850672080606676170808eb1fef962b0feb0fef962e0eeb0fef9\
      620d0a0cf2b3b4fef9628095e7ac838985064c3e0380c8d007feffffffffffffffff01feffffffffffffffff01fe\
      ffffffffffffffff01feffffffffffffffff01feffffffffffffffff01020400c0a8a504c0a8a504feffffffffff\
      ffffff010000""";

  private static final String VERSION_4 =
      """
      082677313a7b343a61636d657d3a353a6275727374c8010280897a8080f281838985065080c2c9b1838985064203\
      80b4fb948389850604c08db7010480d89bc8fb8885061880fcc2a282898506120000000080b0c58ef48885061880\
      d4ece8fa8885061800000000809c8ebb83898506c0c4b3bf8389850680b9cfb08389850672080606676170808eb1\
      fef962b0feb0fef962e0eeb0fef9620d0a0cf2b3b4fef9628095e7ac838985064c3e0380c8d007feffffffffffff\
      ffff010204""";

  private static final String VERSION_4_AS_10 =
      """
      142677313a7b343a61636d657d3a353a627572737418746f6b656e2d6275636b6574c8010280897a8080f2818389\
      85065080c2c9b183898506420380b4fb948389850604c08db701feffffffffffffffff0180c2c9b1838985060400\
      00000280d89bc8fb8885061880fcc2a2828985061200000000feffffffffffffffff0180fcc2a282898506000000\
      00809c8ebb83898506c0c4b3bf8389850680b9cfb08389850672080606676170808eb1fef962b0feb0fef962e0ee\
      b0fef9620d0a0cf2b3b4fef9628095e7ac838985064c3e0380c8d007feffffffffffffffff01feffffffffffffff\
      ff01feffffffffffffffff01feffffffffffffffff01feffffffffffffffff01020400c0a8a504c0a8a504feffff\
      ffffffffffff010000""";

  private static final String VERSION_5 =
      """
      0a2677313a7b343a61636d657d3a353a627572737418746f6b656e2d6275636b6574c8010280897a8080f2818389\
      85065080c2c9b183898506420380b4fb948389850604c08db7010280d89bc8fb8885061880fcc2a2828985061200\
      000000809c8ebb83898506c0c4b3bf8389850680b9cfb08389850672080606676170808eb1fef962b0feb0fef962\
      e0eeb0fef9620d0a0cf2b3b4fef9628095e7ac838985064c3e0380c8d007feffffffffffffffff010204e0c65b04\
      80a6adf88289850680d38ffd828985068089ec82838985068092e68383898506""";

  private static final String VERSION_5_AS_10 =
      """
      142677313a7b343a61636d657d3a353a627572737418746f6b656e2d6275636b6574c8010280897a8080f2818389\
      85065080c2c9b183898506420380b4fb948389850604c08db701feffffffffffffffff0180c2c9b1838985060400\
      00000280d89bc8fb8885061880fcc2a2828985061200000000feffffffffffffffff0180fcc2a282898506000000\
      00809c8ebb83898506c0c4b3bf8389850680b9cfb08389850672080606676170808eb1fef962b0feb0fef962e0ee\
      b0fef9620d0a0cf2b3b4fef9628095e7ac838985064c3e0380c8d007feffffffffffffffff01feffffffffffffff\
      ff01feffffffffffffffff01feffffffffffffffff01feffffffffffffffff01020400e0c65bfeffffffffffff1f\
      feffffffffffffffff01000480a6adf88289850680d38ffd828985068089ec82838985068092e68383898506""";

  private static final String VERSION_6 =
      """
      0c2677313a7b343a61636d657d3a353a627572737418746f6b656e2d6275636b6574c8010280897a8080f2818389\
      85065080c2c9b183898506420380b4fb948389850604c08db70180efabb6838985060280d89bc8fb8885061880fc\
      c2a282898506120000000000809c8ebb83898506c0c4b3bf8389850680b9cfb08389850672080606676170808eb1\
      fef962b0feb0fef962e0eeb0fef9620d0a0cf2b3b4fef9628095e7ac838985064c3e0380c8d007feffffffffffff\
      ffff01c096b102c09fab030204e0c65b0480a6adf88289850680d38ffd828985068089ec82838985068092e68383\
      898506""";

  private static final String VERSION_7 =
      """
      0e2677313a7b343a61636d657d3a353a627572737418746f6b656e2d6275636b6574c8010280897a8080f2818389\
      85065080c2c9b183898506420380b4fb948389850604c08db70180efabb68389850680c2c9b183898506040280d8\
      9bc8fb8885061880fcc2a28289850612000000000080fcc2a28289850600809c8ebb83898506c0c4b3bf83898506\
      80b9cfb08389850672080606676170808eb1fef962b0feb0fef962e0eeb0fef9620d0a0cf2b3b4fef9628095e7ac\
      838985064c3e0380c8d007feffffffffffffffff01c096b102c09fab03feffffffffffffffff01feffffffffffff\
      ffff010204e0c65b0480a6adf88289850680d38ffd828985068089ec82838985068092e68383898506""";

  private static final String VERSION_7_AS_10 =
      """
      142677313a7b343a61636d657d3a353a627572737418746f6b656e2d6275636b6574c8010280897a8080f2818389\
      85065080c2c9b183898506420380b4fb948389850604c08db70180efabb68389850680c2c9b18389850604000000\
      0280d89bc8fb8885061880fcc2a28289850612000000000080fcc2a28289850600000000809c8ebb83898506c0c4\
      b3bf8389850680b9cfb08389850672080606676170808eb1fef962b0feb0fef962e0eeb0fef9620d0a0cf2b3b4fe\
      f9628095e7ac838985064c3e0380c8d007feffffffffffffffff01c096b102c09fab03feffffffffffffffff01fe\
      ffffffffffffffff01020400e0c65bfeffffffffffff1ffeffffffffffffffff01000480a6adf88289850680d38f\
      fd828985068089ec82838985068092e68383898506""";

  private static final String VERSION_8 =
      """
      102677313a7b343a61636d657d3a353a627572737418746f6b656e2d6275636b6574c8010280897a8080f2818389\
      85065080c2c9b183898506420380b4fb948389850604c08db70180efabb68389850680c2c9b18389850604c80180\
      c2c9b1838985063c0280d89bc8fb8885061880fcc2a28289850612000000000080fcc2a28289850600000000809c\
      8ebb83898506c0c4b3bf8389850680b9cfb08389850672080606676170808eb1fef962b0feb0fef962e0eeb0fef9\
      620d0a0cf2b3b4fef9628095e7ac838985064c3e0380c8d007feffffffffffffffff01c096b102c09fab03feffff\
      ffffffffffff01feffffffffffffffff010204e0c65bc0d6b7010480a6adf88289850680d38ffd828985068089ec\
      82838985068092e68383898506""";

  private static final String VERSION_8_AS_10 =
      """
      142677313a7b343a61636d657d3a353a627572737418746f6b656e2d6275636b6574c8010280897a8080f2818389\
      85065080c2c9b183898506420380b4fb948389850604c08db70180efabb68389850680c2c9b18389850604c80180\
      c2c9b1838985063c0280d89bc8fb8885061880fcc2a28289850612000000000080fcc2a28289850600000000809c\
      8ebb83898506c0c4b3bf8389850680b9cfb08389850672080606676170808eb1fef962b0feb0fef962e0eeb0fef9\
      620d0a0cf2b3b4fef9628095e7ac838985064c3e0380c8d007feffffffffffffffff01c096b102c09fab03feffff\
      ffffffffffff01feffffffffffffffff01020400e0c65bc0d6b701feffffffffffffffff01000480a6adf8828985\
      0680d38ffd828985068089ec82838985068092e68383898506""";

  private static final String VERSION_9 =
      """
      122677313a7b343a61636d657d3a353a627572737418746f6b656e2d6275636b6574c8010280897a8080f2818389\
      85065080c2c9b183898506420380b4fb948389850604c08db70180efabb68389850680c2c9b18389850604c80180\
      c2c9b1838985063c0280d89bc8fb8885061880fcc2a28289850612000000000080fcc2a28289850600000000809c\
      8ebb83898506c0c4b3bf8389850680b9cfb08389850672080606676170808eb1fef962b0feb0fef962e0eeb0fef9\
      620d0a0cf2b3b4fef9628095e7ac838985064c3e0380c8d007feffffffffffffffff01c096b102c09fab03feffff\
      ffffffffffff01feffffffffffffffff010204c08db701e0c65bc0d6b70180c2c9b1838985060480a6adf8828985\
      0680d38ffd828985068089ec82838985068092e68383898506""";

  private static final String VERSION_9_AS_10 =
      """
      142677313a7b343a61636d657d3a353a627572737418746f6b656e2d6275636b6574c8010280897a8080f2818389\
      85065080c2c9b183898506420380b4fb948389850604c08db70180efabb68389850680c2c9b18389850604c80180\
      c2c9b1838985063c0280d89bc8fb8885061880fcc2a28289850612000000000080fcc2a28289850600000000809c\
      8ebb83898506c0c4b3bf8389850680b9cfb08389850672080606676170808eb1fef962b0feb0fef962e0eeb0fef9\
      620d0a0cf2b3b4fef9628095e7ac838985064c3e0380c8d007feffffffffffffffff01c096b102c09fab03feffff\
      ffffffffffff01feffffffffffffffff010204c08db701e0c65bc0d6b70180c2c9b183898506000480a6adf88289\
      850680d38ffd828985068089ec82838985068092e68383898506""";

  private static final String VERSION_10 =
      """
      142677313a7b343a61636d657d3a353a627572737418746f6b656e2d6275636b6574c8010280897a8080f2818389\
      85065080c2c9b183898506420380b4fb948389850604c08db70180efabb68389850680c2c9b18389850604c80180\
      c2c9b1838985063c0280d89bc8fb8885061880fcc2a28289850612000000000080fcc2a28289850600000000809c\
      8ebb83898506c0c4b3bf8389850680b9cfb08389850672080606676170808eb1fef962b0feb0fef962e0eeb0fef9\
      620d0a0cf2b3b4fef9628095e7ac838985064c3e0380c8d007feffffffffffffffff01c096b102c09fab03feffff\
      ffffffffffff01feffffffffffffffff010204c08db701e0c65bc0d6b70180c2c9b18389850680c2c9b183898506\
      0480a6adf88289850680d38ffd828985068089ec82838985068092e68383898506""";

  @Test
  void version10_restoredAndStoredAgain_isTheSameBytes() {
    assertEquals(VERSION_10, storedAgain(VERSION_10));
  }

  /** What is owed may have been charged at any time, and of nothing it is certain that it lacks. */
  @Test
  void version9_isReadWithoutTheCachesClock() {
    assertEquals(VERSION_9_AS_10, storedAgain(VERSION_9));
  }

  @Test
  void version8_isReadWithoutUntilWhenWhatIsOwedWasCharged() {
    assertEquals(VERSION_8_AS_10, storedAgain(VERSION_8));
  }

  /** All by which the truth exceeds the cache may be owed since the confirmed correction. */
  @Test
  void version7_isReadWithoutABelievedStamp() {
    assertEquals(VERSION_7_AS_10, storedAgain(VERSION_7));
  }

  /** Whatever comes up to the newest stamp is taken for what gaps gave up. */
  @Test
  void version6_isReadAsIfAllOfItsGapsHadCome() {
    assertEquals(VERSION_7_AS_10, storedAgain(VERSION_6));
  }

  /** Once, a credit whose time is not known counted as refilled since ever. */
  @Test
  void version5_isReadWithoutDistancesInFlight_andNothingWasRefilledByItsCredits() {
    assertEquals(VERSION_5_AS_10, storedAgain(VERSION_5));
  }

  /** What is owed is assumed to be all by which the truth exceeds the cache. */
  @Test
  void version4_isReadWithoutFullTimes() {
    assertEquals(VERSION_4_AS_10, storedAgain(VERSION_4));
  }

  @Test
  void version3_isReadWithoutFullTimesAndCredits() {
    assertEquals(VERSION_3_AS_10, storedAgain(VERSION_3));
  }

  @Test
  void version2_isRefused() {
    byte[] bytes = new Packer().integer(2).text("w1:{4:acme}:5:burst").toBytes();

    assertThrows(IllegalStateException.class, () -> BucketAuditCodec.decode(bytes));
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
            0);

    assertEquals(expected, BucketAuditCodec.snapshot(bytes(VERSION_6)));
    assertEquals(expected, BucketAuditCodec.snapshot(bytes(VERSION_3)));
  }

  private static byte[] bytes(String hex) {
    return HexFormat.of().parseHex(hex);
  }

  private static String storedAgain(String hex) {
    BucketAudit restored = BucketAuditCodec.decode(bytes(hex));
    return HexFormat.of().formatHex(BucketAuditCodec.encode(restored, new Packer()));
  }
}
