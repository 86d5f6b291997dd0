// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Bodies made to break a parser: each is refused with a reason, or read as it stands. */
final class HostileJsonTest {
  private static final int MOST = RequestBody.MAX_BYTES;

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        "null",
        "[]",
        "\"client\"",
        "{\"client\":\"a\"",
        "{\"client\":\"a\"}{}",
        "{\"client\":\"a\"} trailing",
        "{\"client\":\"a\",}",
        "{'client':'a'}",
        "{client:\"a\"}",
        "{\"client\":\"a\"/* */}",
        "{\"client\":\"a\",\"cost\":NaN}",
        "{\"client\":\"a\",\"cost\":Infinity}",
        "{\"client\":\"a\",\"cost\":01}",
        "{\"client\":\"a\",\"cost\":+1}",
        "{\"client\":\"a\",\"cost\":0x1}",
        "{\"client\":\"a\",\"cost\":1.0}",
        "{\"client\":\"a\",\"cost\":1e3}",
        "{\"client\":\"a\",\"cost\":\"1\"}",
        "{\"client\":\"a\",\"cost\":true}",
        "{\"client\":\"a\",\"cost\":null}",
        "{\"client\":\"a\",\"cost\":-1}",
        "{\"client\":\"a\",\"cost\":9007199254740992}",
        "{\"client\":\"a\",\"cost\":18446744073709551617}",
        "{\"client\":\"a\",\"client\":\"b\"}",
        "{\"client\":\"a\",\"cost\":1,\"cost\":2}",
        "{\"client\":\"a\",\"x\":1,\"x\":1}",
        "{\"client\":\"a\",\"x\":{\"y\":1,\"y\":1}}",
        "{\"cl\\u0069ent\":\"a\",\"client\":\"b\"}",
        "{\"client\":\"\\ud800\"}",
        "{\"client\":\"\\udc00\\ud800\"}",
        "{\"client\":\"\\u0000\"}",
        "{\"client\":\"a\nb\"}",
        "{\"client\":\"\\x41\"}",
        "{\"client\":\"\\u12\"}",
        "{\"client\":{}}",
        "{\"client\":[\"a\"]}",
        "{\"client\":\"a\",\"id\":1}",
      })
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
  void members_ofEveryName_areRead_andTheirHashesDoNotMatter() throws Exception {
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
    assertEquals("a", CheckRequest.read(bytes).client());
  }

  @Test
  void bytes_thatAreNotUtf8_areRefused() {
    for (int[] bad :
        new int[][] {
          {0xff}, {0xc0, 0x80}, {0xe2, 0x82}, {0xed, 0xa0, 0x80}, {0xf5, 0x80, 0x80, 0x80}, {0x80}
        }) {
      ByteArrayOutputStream body = new ByteArrayOutputStream();
      body.writeBytes("{\"client\":\"a".getBytes(StandardCharsets.UTF_8));
      for (int each : bad) {
        body.write(each);
      }
      body.writeBytes("\"}".getBytes(StandardCharsets.UTF_8));

      assertRefused(body.toByteArray());
    }
  }

  @Test
  void byteOrderMark_isSkipped() throws Exception {
    byte[] body = "\ufeff{\"client\":\"a\"}".getBytes(StandardCharsets.UTF_8);

    assertEquals("a", CheckRequest.read(body).client());
  }

  private static void assertRefused(String body) {
    assertRefused(body.getBytes(StandardCharsets.UTF_8));
  }

  private static void assertRefused(byte[] body) {
    CheckRequest.Invalid refused =
        assertThrows(CheckRequest.Invalid.class, () -> CheckRequest.read(body));
    Problem problem = refused.problem();
    assertEquals(400, problem.status());
    assertTrue(problem.detail().length() > 10, problem.detail());
    assertTrue(problem.detail().length() < 500, "a reason, not the body: " + problem.detail());
  }
}
