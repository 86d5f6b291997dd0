// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class MalformedRecordsTest {
  private static final String GOOD =
      "{\"id\":\"1\",\"client\":\"acme\",\"endpoint\":\"-\",\"meter\":\"calls\",\"cost\":1,"
          + "\"allowed\":true,\"decided_by\":\"cache\",\"decided_at_ms\":5}";

  @Test
  void callLine_unknownMembers_areIgnored() throws Exception {
    String line = GOOD.replace("\"cost\"", "\"new\":{\"deep\":[1,{}]},\"cost\"");

    assertEquals("acme", decode(line));
  }

  @Test
  void callLine_wrongMember_isNamed() {
    assertProblem(GOOD.replace("\"client\":\"acme\",", ""), "client is missing");
    assertProblem(GOOD.replace("\"cost\":1", "\"cost\":0"), "cost must be between 1 and");
    assertProblem(GOOD.replace("\"cost\":1", "\"cost\":1.5"), "cost must be an integer");
    assertProblem(GOOD.replace("\"cost\":1", "\"cost\":99999999999999999999"), "int64");
    assertProblem(GOOD.replace("true", "\"yes\""), "allowed must be true or false");
    assertProblem(GOOD.replace("\"cache\"", "\"oracle\""), "unknown decided_by");
    assertProblem(GOOD.replace(",\"decided_at_ms\":5", ""), "decided_at_ms");
    assertProblem(GOOD.replace("acme", "a\\u0000b"), "client must not contain control");
    assertProblem(GOOD + "{}", "only one object");
    assertProblem(GOOD.substring(0, 40), "must be");
    assertProblem("[]", "must be a JSON object");
    assertProblem("", "must be a JSON object");
  }

  @Test
  void settlementLine_wrongMember_isNamed() {
    String good = GOOD.replace("}", ",\"actual_cost\":3,\"settled_at_ms\":9}");

    assertProblem(good.replace(":3", ":-1"), "actual_cost must be between 0 and");
    assertProblem(good.replace(":3", ":9007199254740992"), "actual_cost must be between 0 and");
    assertProblem(good.replace(":9}", ":-9}"), "settled_at_ms must be between 0 and ");
    assertProblem(good.replace(",\"actual_cost\":3", ""), "actual_cost is missing");
    assertProblem(good.replace(",\"settled_at_ms\":9", ""), "settled_at_ms is missing");
    assertProblem(good.replace("true", "false"), "cannot be settled");
  }

  @Test
  void callLine_cutOrFlippedBytes_throwsOnlyMalformedRecord() {
    Random random = new Random(20_261_121);
    for (int i = 0; i < 20_000; i++) {
      byte[] line = GOOD.getBytes(StandardCharsets.UTF_8);
      for (int flips = random.nextInt(4); flips >= 0; flips--) {
        line[random.nextInt(line.length)] = (byte) random.nextInt(256);
      }
      int length = random.nextInt(line.length + 1);
      try {
        CallLineCodec.decode(line, 0, length);
      } catch (MalformedRecordException expected) {
        assertTrue(String.valueOf(expected.getMessage()).length() > 5);
      }
    }
  }

  @Test
  void batchHeaders_wrongOne_isNamed() {
    Map<String, String> good =
        Map.of(
            "weir-type",
            "calls",
            "node",
            "a",
            "node_epoch",
            "1",
            "batch_seq",
            "1",
            "count",
            "1",
            "low_watermark_ms",
            "1",
            "lines_before",
            "0");
    for (String name : good.keySet()) {
      Map<String, String> without = new HashMap<>(good);
      without.remove(name);
      assertTrue(headerProblem(without).contains(name), name);
      Map<String, String> wrong = new HashMap<>(good);
      wrong.put(name, "-7 x");
      assertTrue(headerProblem(wrong).contains(name), name);
    }
    Map<String, String> arabic = new HashMap<>(good);
    arabic.put("count", "٣");
    assertTrue(headerProblem(arabic).contains("count"), "digits of ASCII alone");
  }

  private static String headerProblem(Map<String, String> headers) {
    return String.valueOf(
        assertThrows(
                MalformedRecordException.class,
                () ->
                    BatchHeaderCodec.decode(
                        name -> {
                          String value = headers.get(name);
                          return value == null ? null : value.getBytes(StandardCharsets.UTF_8);
                        }))
            .getMessage());
  }

  private static String decode(String line) throws MalformedRecordException {
    byte[] bytes = line.getBytes(StandardCharsets.UTF_8);
    return CallLineCodec.decode(bytes, 0, bytes.length).client();
  }

  private static void assertProblem(String line, String expected) {
    MalformedRecordException problem =
        assertThrows(MalformedRecordException.class, () -> decode(line));
    assertTrue(
        String.valueOf(problem.getMessage()).contains(expected),
        "'" + problem.getMessage() + "' should say '" + expected + "'");
  }
}
