// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.ingest.gate.Call;
import io.weir.topics.problem.Problem;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Bodies made to break a parser: each is refused with a reason, or read literally. */
final class HostileJsonTest {
  private static final int MOST = RequestBody.MAX_BYTES;

  static List<String> bodiesThatAreNoCheck() {
    return BadBodies.NO_CHECKS;
  }

  @ParameterizedTest
  @MethodSource("bodiesThatAreNoCheck")
  void body_thatIsNoCheck_isRefusedWithAReason(String body) {
    assertRefused(body.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void nesting_above32_isRefused_wherever() {
    assertRefused(("{\"client\":\"a\",\"x\":" + "[".repeat(33) + "]".repeat(33) + "}"));
    assertRefused("[".repeat(MOST));
    assertRefused("{\"x\":".repeat(MOST / 5));
    assertRefused("{\"client\":\"a\",\"attributes\":" + "{\"x\":".repeat(12_000));
  }

  @Test
  void number_ofManyDigits_isRefused() {
    assertRefused("{\"client\":\"a\",\"cost\":" + "9".repeat(60_000) + "}");
    assertRefused("{\"client\":\"a\",\"cost\":1e" + "9".repeat(900) + "}");
  }

  @Test
  void escapes_of64Kib_areRefusedAsTooLong() {
    String body = "{\"client\":\"" + "\\u0041".repeat((MOST - 20) / 6) + "\"}";

    assertRefused(body);
  }

  @Test
  void members_withCollidingHashes_areRead() throws Exception {
    StringBuilder body = new StringBuilder("{\"client\":\"a\"");
    // "Aa" and "BB" have one hash, and so has every string of them of one length
    for (int i = 0; i < 2_048; i++) {
      body.append(",\"");
      for (int bit = 0; bit < 11; bit++) {
        body.append((i >> bit & 1) == 0 ? "Aa" : "BB");
      }
      body.append("\":0");
    }
    byte[] bytes = body.append('}').toString().getBytes(StandardCharsets.UTF_8);

    assertTrue(bytes.length <= MOST);
    assertEquals("a", ((Call) CheckRequest.read(bytes, UnknownMembers.IGNORE)).facts().client());
  }

  @Test
  void bodiesThatAreNoUtf8_orHoldBadNames_areRefused() {
    BadBodies.noChecks().forEach(HostileJsonTest::assertRefused);
  }

  @Test
  void textBeyondAscii_isReadAsItStands() throws Exception {
    byte[] body = "{\"client\":\"a\",\"meter\":\"€\ud83d\ude00\"}".getBytes(StandardCharsets.UTF_8);

    assertEquals(
        "€\ud83d\ude00", ((Call) CheckRequest.read(body, UnknownMembers.IGNORE)).facts().meter());
  }

  @Test
  void byteOrderMark_isSkipped() throws Exception {
    byte[] body = "\ufeff{\"client\":\"a\"}".getBytes(StandardCharsets.UTF_8);

    assertEquals("a", ((Call) CheckRequest.read(body, UnknownMembers.IGNORE)).facts().client());
  }

  private static void assertRefused(String body) {
    assertRefused(body.getBytes(StandardCharsets.UTF_8));
  }

  private static void assertRefused(byte[] body) {
    JsonBody.Invalid refused =
        assertThrows(JsonBody.Invalid.class, () -> CheckRequest.read(body, UnknownMembers.IGNORE));
    Problem problem = refused.problem();
    assertEquals(400, problem.status());
    assertTrue(problem.detail().length() > 10, problem.detail());
    assertTrue(problem.detail().length() < 500, "a reason, not the body: " + problem.detail());
  }
}
