// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class MalformedRecordsTest {
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
}
