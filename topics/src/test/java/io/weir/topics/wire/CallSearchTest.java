// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** Tests which lines of a batch a search decodes. */
final class CallSearchTest {
  private final CallSearch search = new CallSearch("acmé");

  @Test
  void lineThatMentionsTheText_isRead_andNoOther() {
    assertEquals(3, search.begin(BatchLines.encode(List.of(call("a"), call("acmé"), call("b")))));

    assertNull(search.call(1));
    assertEquals("acmé", Objects.requireNonNull(search.call(2)).client());
    assertNull(search.call(3));
  }

  @Test
  void batchThatNowhereMentionsTheText_isPassedOver() {
    assertEquals(0, search.begin(BatchLines.encode(List.of(call("acm"), call("acme")))));
    assertEquals(0, search.begin(new byte[0]));
  }

  @Test
  void escapedText_isFound() {
    String line = new String(BatchLines.encode(List.of(call("acmé"))), StandardCharsets.UTF_8);

    assertEquals(1, search.begin(line.replace("é", "\\u00e9").getBytes(StandardCharsets.UTF_8)));
    assertEquals("acmé", Objects.requireNonNull(search.call(1)).client());
  }

  @Test
  void lineThatIsNoCall_isPassedOver() {
    assertEquals(2, search.begin("acmé\n{\"client\":\"acmé\"}".getBytes(StandardCharsets.UTF_8)));
    assertNull(search.call(1));
    assertNull(search.call(2));
  }

  @Test
  void emptyText_isRefused() {
    assertThrows(IllegalArgumentException.class, () -> new CallSearch(""));
  }

  private static CallEvent call(String client) {
    return new CallEvent(
        "id", false, client, "-", "calls", 1, true, DecidedBy.CACHE, null, 1, 5, null, List.of());
  }
}
