// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Each line is read by itself, although one parser reads them all. */
final class DecisionLinesTest {
  private static final String GOOD =
      "{\"id\":\"1\",\"client\":\"a\",\"endpoint\":\"e\",\"meter\":\"m\",\"cost\":1,"
          + "\"allowed\":true,\"decided_by\":\"none\",\"decided_at_ms\":5,"
          + "\"billing_period\":\"2026-11-15\",\"x\":{\"y\":[1]}}";

  private static String read(byte[] batch) throws IOException {
    List<Integer> numbers = new ArrayList<>();
    int unreadable =
        new DecisionLines(new Hash(1), new Rates())
            .read(batch, (call, number) -> numbers.add(number));
    return numbers + " and " + unreadable;
  }

  private static String read(String batch) throws IOException {
    return read(batch.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void goodLines_areRead() throws IOException {
    assertEquals("[1, 2, 3] and 0", read(GOOD + "\n " + GOOD + "\r\n" + GOOD));
    assertEquals("[] and 0", read(""));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        "{",
        "}",
        "[]",
        "null",
        "{}",
        "\"",
        "{\"id\":\"",
        "\u0000",
        "{\"id\":1}",
        GOOD + GOOD,
        GOOD + " x",
        "x" + GOOD,
        "{\"charges\":[",
        "{\"charges\":[{\"key\":\"k\",\"cost\":1,\"capacity\":0}]",
      })
  void unreadableLine_leavesItsNeighboursReadable(String line) throws IOException {
    assertEquals("[1, 3] and 1", read(GOOD + "\n" + line + "\n" + GOOD));
    assertEquals("[2] and 1", read(line + "\n" + GOOD));
  }

  @Test
  void objectOverTwoLines_isTwoUnreadableLines() throws IOException {
    String cut = GOOD.replace(",\"cost\"", ",\n\"cost\"");

    assertEquals("[1, 4] and 2", read(GOOD + "\n" + cut + "\n" + GOOD));
  }

  @Test
  void otherEncoding_isUnreadable() throws IOException {
    assertEquals("[] and 2", read((GOOD + "\n").getBytes(StandardCharsets.UTF_16LE)));
    assertEquals("[] and 1", read(GOOD.getBytes(StandardCharsets.UTF_16)));
    byte[] damaged = (GOOD + "\n" + GOOD).getBytes(StandardCharsets.UTF_8);
    damaged[GOOD.indexOf("\"a\"") + 1] = (byte) 0xff;
    assertEquals("[2] and 1", read(damaged));
  }

  @Test
  void settlement_isNoCall() throws IOException {
    String settlement = GOOD.replace("}}", "},\"actual_cost\":0,\"settled_at_ms\":6}");

    assertEquals("[2] and 0", read(settlement + "\n" + GOOD));
  }
}
