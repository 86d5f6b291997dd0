// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Bodies that are no checks, and no settlements: none of them may be read as one. */
final class BadBodies {
  /** As text. */
  static final List<String> NO_CHECKS =
      List.of(
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
          "{\"client\":\"a\",\"cost\":1e999999999}",
          "{\"client\":\"a\",\"cost\":-0}",
          "{\"client\":\"a\",\"cost\":0}",
          "{\"client\":\"a\",\"cost\":.5}",
          "{\"client\":\"a\",\"cost\":1.}",
          "{\"client\":\"a\",\"cost\":0.9999999999999999999}",
          "{\"client\":\"a\",\"cost\":1_000}",
          "{\"client\":\"a\",\"cost\":}",
          "{\"client\":\"a\",\"cost\":[1]}",
          "{\"client\":\"a\",\"cost\":{\"$numberLong\":\"1\"}}",
          "{\"client\":\"a\"\"cost\":1}",
          "{\"client\":\"a\",,\"cost\":1}",
          "{,\"client\":\"a\"}",
          "{\"client\"}",
          "{\"client\" \"a\"}",
          "{\"client\":\"a\"",
          "{\"client\":\"a",
          "{\"cli",
          "{",
          "}",
          "[{\"client\":\"a\"}]",
          "true",
          "1",
          "1e999999999",
          "{\"CLIENT\":\"a\"}",
          "{\"client \":\"a\"}",
          "{}",
          "{\"client\":\"a\"}\u0000",
          "\u0000{\"client\":\"a\"}",
          "{\"client\":\"a\"}]",
          "{\"client\":\"a\"}\n{\"client\":\"b\"}",
          "{\"client\":\"a\",\"x\":nul}",
          "{\"client\":\"a\",\"x\":TRUE}",
          "{\"client\":\"a\",\"x\":-}",
          "{\"client\":\"a\",\"x\":1e}",
          "{\"client\":\"a\",\"x\":\"\\ud83d\\u0020\\q\"}",
          "{\"client\":\"a\",\"attributes\":\"x\"}",
          "{\"client\":\"a\",\"attributes\":[]}",
          "{\"client\":\"a\",\"attributes\":1}",
          "{\"client\":\"a\",\"attributes\":null}",
          "{\"client\":\"a\",\"attributes\":{\"x\":1,\"x\":2}}",
          "{\"client\":\"a\",\"ip\":\"\"}",
          "{\"client\":\"a\",\"ip\":\"1.2.3\"}",
          "{\"client\":\"a\",\"ip\":\"1.2.3.256\"}",
          "{\"client\":\"a\",\"ip\":\"1.2.3.4/8\"}",
          "{\"client\":\"a\",\"ip\":\"0x7f.1\"}",
          "{\"client\":\"a\",\"ip\":\"localhost\"}",
          "{\"client\":\"a\",\"ip\":\"::g\"}",
          "{\"client\":\"a\",\"ip\":\"1::2::3\"}",
          "{\"client\":\"a\",\"ip\":\"fe80::1%eth0\"}",
          "{\"client\":\"a\",\"ip\":2130706433}",
          "<check><client>a</client></check>",
          "client=a&cost=1",
          "--x\r\nContent-Disposition: form-data; name=\"client\"\r\n\r\na\r\n--x--");

  /** Texts that no name may be. */
  private static final List<String> NO_NAMES =
      List.of(
          "\"\"",
          "\"" + "n".repeat(257) + "\"",
          "\"" + "\u20ac".repeat(86) + "\"",
          "\"a\\u0000\"",
          "\"a\\u001f\"",
          "\"a\\u007f\"",
          "\"a\\u0085\"",
          "\"a\\n\"",
          "\"\\ud800\"",
          "\"\\udfffx\"",
          "\"a\tb\"",
          "\"\\u12\"",
          "\"\\x41\"",
          "1",
          "1.5e3",
          "true",
          "null",
          "[]",
          "[\"a\"]",
          "{}",
          "{\"a\":\"b\"}");

  private static final int[][] NOT_UTF_8 = {
    {0xff},
    {0xfe, 0xff},
    {0xc0, 0x80},
    {0xc1, 0xbf},
    {0xe0, 0x80, 0x80},
    {0xe2, 0x82},
    {0xed, 0xa0, 0x80},
    {0xed, 0xb0, 0x80},
    {0xf0, 0x80, 0x80, 0x80},
    {0xf4, 0x90, 0x80, 0x80},
    {0xf5, 0x80, 0x80, 0x80},
    {0x80}
  };

  private BadBodies() {}

  /** All bodies that are no checks, with names that are none, too. */
  static List<byte[]> noChecks() {
    List<byte[]> bodies = new ArrayList<>();
    NO_CHECKS.forEach(body -> bodies.add(bytes(body)));
    for (String name : NO_NAMES) {
      bodies.add(bytes("{\"client\":" + name + "}"));
      for (String member : List.of("endpoint", "meter", "id")) {
        bodies.add(bytes("{\"client\":\"a\",\"" + member + "\":" + name + "}"));
      }
    }
    for (int[] bad : NOT_UTF_8) {
      bodies.add(around("{\"client\":\"a", bad, "\"}"));
      bodies.add(around("{\"client\":\"a\",\"id\":\"", bad, "\"}"));
      bodies.add(around("{\"client\":\"a\",\"x", bad, "\":1}"));
    }
    bodies.addAll(deepOnes());
    bodies.add(bytes("{\"client\":\"a\",\"cost\":" + "9".repeat(60_000) + "}"));
    bodies.add(bytes("{\"client\":\"a\",\"cost\":1e" + "9".repeat(900) + "}"));
    bodies.add("{\"client\":\"a\"}".getBytes(StandardCharsets.UTF_16LE));
    return bodies;
  }

  private static List<byte[]> deepOnes() {
    return List.of(
        bytes("[".repeat(RequestBody.MAX_BYTES)),
        bytes("{\"x\":".repeat(RequestBody.MAX_BYTES / 5)),
        bytes("{\"client\":\"a\",\"x\":" + "[".repeat(33) + "]".repeat(33) + "}"),
        bytes("{\"client\":\"a\",\"attributes\":" + "{\"x\":".repeat(12_000)));
  }

  /** Bodies that are no settlements of a call. */
  static List<byte[]> noSettlements() {
    List<byte[]> bodies = new ArrayList<>();
    for (String cost :
        List.of(
            "-1",
            "1.0",
            "1e3",
            "1e999999999",
            "\"1\"",
            "null",
            "true",
            "[]",
            "{}",
            "01",
            "NaN",
            "9007199254740992",
            "18446744073709551617",
            "9".repeat(60_000))) {
      bodies.add(bytes("{\"client\":\"a\",\"actual_cost\":" + cost + "}"));
    }
    for (String name : NO_NAMES) {
      bodies.add(bytes("{\"client\":" + name + ",\"actual_cost\":1}"));
    }
    bodies.add(bytes("{\"client\":\"a\"}"));
    bodies.add(bytes("{\"actual_cost\":1}"));
    bodies.add(bytes("{\"client\":\"a\",\"actual_cost\":1,\"actual_cost\":2}"));
    bodies.add(bytes("{\"client\":\"a\",\"client\":\"b\",\"actual_cost\":1}"));
    bodies.addAll(deepOnes());
    return bodies;
  }

  private static byte[] around(String before, int[] bad, String after) {
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    body.writeBytes(bytes(before));
    for (int each : bad) {
      body.write(each);
    }
    body.writeBytes(bytes(after));
    return body.toByteArray();
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
