// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.weir.aggregator.state.Packer;
import io.weir.limits.TokenBucketLimit;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

/** The stored form; a difference means that state has to be migrated. */
final class BucketAuditCodecTest {
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

  @Test
  void otherVersion_isRefused() {
    byte[] bytes = new Packer().integer(9).text("w1:{4:acme}:5:burst").toBytes();

    String message =
        assertThrows(IllegalStateException.class, () -> BucketAuditCodec.decode(bytes))
            .getMessage();
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

    assertEquals(expected, BucketAuditCodec.snapshot(bytes(VERSION_10)));
  }

  private static byte[] bytes(String hex) {
    return HexFormat.of().parseHex(hex);
  }

  private static String storedAgain(String hex) {
    BucketAudit restored = BucketAuditCodec.decode(bytes(hex));
    return HexFormat.of().formatHex(BucketAuditCodec.encode(restored, new Packer()));
  }
}
