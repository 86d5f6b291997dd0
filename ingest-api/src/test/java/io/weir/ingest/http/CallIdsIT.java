// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A settlement can name every id that a check accepts. */
final class CallIdsIT {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Regression: calls with the ids / and .. could be made, and never be settled. */
  @Test
  void idThatACheckAccepts_canBeSettled(@TempDir Path folder) throws Exception {
    List<String> wrong = new ArrayList<>();
    List<String> refused = new ArrayList<>();
    try (TestNode node = TestNode.start(folder, Map.of())) {
      for (String id :
          List.of(
              ".",
              "..",
              "...",
              "/",
              "//",
              "/x",
              "x/",
              "a/b",
              "a/../b",
              "./a",
              "a/..",
              "a;b",
              ";",
              "\\",
              "%",
              "%2e%2e",
              "%2F",
              "é",
              "?",
              "#",
              "+",
              " ",
              "x/settle",
              "settle",
              "/settle")) {
        RawHttp.Answer check = post(node, "/v1/check", Map.of("client", "acme", "id", id));
        if (check.status() == 400) {
          refused.add(id);
          assertEquals("id", JSON.readTree(check.body()).at("/errors/0/field").asText("id"));
          assertTrue(check.body().contains("id"), check::body);
          continue;
        }
        String path = "/v1/calls/" + encoded(id) + "/settle";
        RawHttp.Answer settle = post(node, path, Map.of("client", "nobody", "actual_cost", 1));
        if (settle.status() == 400 || !settle.body().contains("call-not-found")) {
          wrong.add(id + ": " + path + ": " + settle.status() + " " + settle.body());
        }
      }
    }
    assertEquals(List.of(), wrong);
    assertEquals(List.of(".", ".."), refused);
  }

  private static RawHttp.Answer post(TestNode node, String path, Map<String, Object> body)
      throws Exception {
    byte[] bytes = JSON.writeValueAsBytes(body);
    try (RawHttp connection = node.connect()) {
      connection
          .send(
              "POST "
                  + path
                  + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
                  + bytes.length
                  + "\r\n\r\n"
                  + new String(bytes, StandardCharsets.ISO_8859_1))
          .finish();
      return connection.answer();
    }
  }

  /** Encodes every byte that is neither a letter nor a digit, as a careful client does. */
  private static String encoded(String id) {
    StringBuilder path = new StringBuilder();
    for (byte one : id.getBytes(StandardCharsets.UTF_8)) {
      boolean isPlain = one > 0 && Character.isLetterOrDigit(one);
      path.append(isPlain ? String.valueOf((char) one) : String.format("%%%02X", one & 0xff));
    }
    return path.toString();
  }
}
