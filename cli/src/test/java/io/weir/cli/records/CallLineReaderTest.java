// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.records;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.weir.topics.wire.CallLineCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The reader has rules of its own, and accepts the lines that the aggregator accepts. It reads each
 * line by itself, although one parser reads a whole batch.
 */
final class CallLineReaderTest {
  /**
   * Regression: lines that the counting refused were good to verify, which then found them missing.
   */
  @ParameterizedTest(name = "[{index}] {0}")
  @CsvSource(
      delimiter = '|',
      value = {
        "'' | true",
        "'\"capacity\":10,\"refill_tokens\":1,\"refill_period_us\":1000000' | true",
        "'\"algorithm\":\"token-bucket\",\"capacity\":10,\"refill_tokens\":1,\"refill_period_us\":1000000' | true",
        "'\"capacity\":0,\"refill_tokens\":1,\"refill_period_us\":1000000' | true",
        "'\"capacity\":10,\"ends_at_us\":1700000000' | true",
        "'\"algorithm\":\"quota\",\"capacity\":10,\"ends_at_us\":1700000000' | true",
        "'\"algorithm\":\"fixed-window\",\"capacity\":10,\"ends_at_us\":1700000000,\"window_us\":60000000' | true",
        "'\"algorithm\":\"sliding-window\",\"capacity\":10,\"ends_at_us\":1700000000,\"window_us\":60000000,\"sub_windows\":4' | true",
        "'\"algorithm\":\"sliding-window\",\"capacity\":10,\"ends_at_us\":1700000000,\"window_us\":60000000,\"sub_windows\":61' | false",
        "'\"algorithm\":\"sliding-window\",\"capacity\":10,\"ends_at_us\":1700000000,\"window_us\":60000000' | false",
        "'\"algorithm\":\"sliding-window\",\"capacity\":9007199254740991,\"ends_at_us\":1700000000,\"window_us\":60000000,\"sub_windows\":4' | false",
        "'\"algorithm\":\"leaky\",\"capacity\":10,\"ends_at_us\":1700000000' | false",
        "'\"algorithm\":7,\"capacity\":10,\"ends_at_us\":1700000000' | false",
        "'\"algorithm\":\"fixed-window\",\"capacity\":10,\"ends_at_us\":1700000000' | false",
        "'\"algorithm\":\"token-bucket\",\"capacity\":10,\"ends_at_us\":1700000000' | false",
        "'\"algorithm\":\"quota\",\"capacity\":0,\"ends_at_us\":1700000000' | false",
        "'\"algorithm\":\"quota\",\"capacity\":10' | false",
        "'\"capacity\":0' | false",
        "'\"capacity\":10,\"refill_tokens\":0,\"refill_period_us\":1000000' | false",
        "'\"capacity\":10,\"refill_tokens\":1,\"refill_period_us\":0' | false",
      })
  void read_limitOfACharge_agreesWithTheAggregator(String members, boolean isGood) {
    byte[] line =
        ("{\"id\":\"a\",\"client\":\"acme\",\"endpoint\":\"-\",\"meter\":\"calls\",\"cost\":1,"
                + "\"allowed\":true,\"decided_by\":\"cache\",\"policies_version\":1,"
                + "\"decided_at_ms\":1700000000000,\"charges\":[{\"key\":\"w1:{4:acme}:5:burst\","
                + "\"epoch\":1,\"cost\":1,\"charged\":1"
                + (members.isEmpty() ? "" : "," + members)
                + "}]}")
            .getBytes(StandardCharsets.UTF_8);

    assertEquals(isGood, isCounted(line), "the aggregator");
    assertEquals(isGood, isRead(line), "the reader");
  }

  /** The call is of 2023-11-14T22:13:20Z. */
  @ParameterizedTest(name = "[{index}] {0}")
  @CsvSource(
      delimiter = '|',
      value = {
        "2023-11-10 | 1699554600000 | 1702146600000 | '' | true",
        "2023-11-14 | 1699986600000 | 1702578600000 | '' | false",
        "2023-11-14 | 1699986600000 | 1702578600000 | '2023-10-14 1697308200000' | true",
        "2023-11-14 | 1699986600000 | 1702578600000 | '2023-10-14 1699986600000' | false",
        "2023-11-14 | 1699986600000 | 1702578600000 | '2023-10-32 1697308200000' | false",
        "2023-11-15 | 1700000000001 | 1702578600000 | '2023-10-15 1697308200000' | false",
        "2023-10-14 | 1697308200000 | 1700000000000 | '' | false",
        "2023-10-14 | 1697308200000 | 1700000000001 | '' | true",
        "2023-11    | 1699554600000 | 1702146600000 | '' | false",
        "2023-11-31 | 1699554600000 | 1702146600000 | '' | false",
        "''         | 1699554600000 | 1702146600000 | '' | false",
        "2023-11-10 | 1699554600000 | 9007199254740992 | '' | false",
        "2023-11-10 | -9007199254740992 | 1702146600000 | '' | false",
        "2023-11-10 | -9007199254740991 | 1702146600000 | '' | true",
      })
  void read_billingPeriod_agreesWithTheAggregator(
      String name, String start, String end, String before, boolean isGood) {
    String[] sides = before.split(" ", 2);
    String members =
        ",\"billing_period\":\""
            + name
            + "\",\"billing_period_start_ms\":"
            + start
            + ",\"billing_period_end_ms\":"
            + end
            + ",\"billing_zone\":\"Asia/Kolkata\""
            + (before.isEmpty()
                ? ""
                : ",\"billing_period_before\":\""
                    + sides[0]
                    + "\",\"billing_period_before_start_ms\":"
                    + sides[1]);

    assertBoth(isGood, members);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "\"billing_zone\":\"UTC\"",
        "\"billing_period\":\"2023-11-10\"",
        "\"billing_period_start_ms\":1699554600000",
        "\"billing_period_before\":\"2023-10-14\"",
        "\"billing_period_before_start_ms\":1697308200000",
        "\"billing_period\":7",
        "\"billing_period_end_ms\":\"soon\"",
        "\"billing_period\":\"2023-11-10\",\"billing_period_start_ms\":1699554600000,"
            + "\"billing_period_end_ms\":1702146600000,\"billing_zone\":\"\"",
        "\"billing_period\":\"2023-11-10\",\"billing_period_start_ms\":1699554600000,"
            + "\"billing_period_end_ms\":1702146600000,\"billing_zone\":\"UTC\","
            + "\"billing_period_before\":\"2023-10-10\"",
        "\"billing_period\":\"2023-11-10\",\"billing_period_start_ms\":1699554600000,"
            + "\"billing_period_end_ms\":1702146600000,\"billing_zone\":\"UTC\","
            + "\"billing_period_before_start_ms\":1697308200000",
      })
  void read_halfOfABillingPeriod_isRefusedByBoth(String members) {
    assertBoth(false, "," + members);
  }

  private static void assertBoth(boolean isGood, String members) {
    byte[] line =
        ("{\"id\":\"a\",\"client\":\"acme\",\"endpoint\":\"-\",\"meter\":\"calls\",\"cost\":1,"
                + "\"allowed\":true,\"decided_by\":\"none\",\"policies_version\":1,"
                + "\"decided_at_ms\":1700000000000"
                + members
                + "}")
            .getBytes(StandardCharsets.UTF_8);

    assertEquals(isGood, isCounted(line), "the aggregator");
    assertEquals(isGood, isRead(line), "the reader");
  }

  private static boolean isCounted(byte[] line) {
    try {
      CallLineCodec.decode(line, 0, line.length);
      return true;
    } catch (MalformedRecordException refused) {
      return false;
    }
  }

  private static boolean isRead(byte[] line) {
    try {
      new CallLineReader().read(line, 0, line.length);
      return true;
    } catch (UnreadableException refused) {
      return false;
    }
  }

  private static final String GOOD =
      "{\"id\":\"1\",\"client\":\"a\",\"endpoint\":\"e\",\"meter\":\"m\",\"cost\":1,"
          + "\"allowed\":true,\"decided_by\":\"none\",\"decided_at_ms\":5,\"x\":{\"y\":[1]}}";

  /** Reads the lines of a batch with one reader; returns the numbers of the readable ones. */
  private static List<Integer> readable(byte[] batch) {
    CallLineReader reader = new CallLineReader();
    List<Integer> readable = new ArrayList<>();
    int number = 1;
    for (int start = 0; start < batch.length; number++) {
      int end = CallLineReader.endOfLine(batch, start);
      try {
        CallLine line = reader.read(batch, start, end);
        assertEquals(
            "1 a e m", line.id + " " + line.client + " " + line.endpoint + " " + line.meter);
        readable.add(number);
      } catch (UnreadableException unreadable) {
        assertNotNull(unreadable.getMessage());
      }
      start = end + 1;
    }
    return readable;
  }

  private static List<Integer> readable(String batch) {
    return readable(batch.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void read_goodLines_areReadable() {
    assertEquals(List.of(1, 2, 3), readable(GOOD + "\n " + GOOD + "\r\n" + GOOD));
    assertEquals(List.of(), readable(""));
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
  void read_unreadableLine_leavesItsNeighboursReadable(String line) {
    assertEquals(List.of(1, 3), readable(GOOD + "\n" + line + "\n" + GOOD));
    assertEquals(List.of(2), readable(line + "\n" + GOOD));
  }

  @Test
  void read_objectOverTwoLines_isTwoUnreadableLines() {
    String cut = GOOD.replace(",\"cost\"", ",\n\"cost\"");

    assertEquals(List.of(1, 4), readable(GOOD + "\n" + cut + "\n" + GOOD));
  }

  /** The aggregator reads such a line with a parser of its own, which detects the encoding. */
  @Test
  void read_otherEncoding_isReadableIfTheLineIs() {
    assertEquals(List.of(1), readable((GOOD + "\n").getBytes(StandardCharsets.UTF_16LE)));
    assertEquals(List.of(1), readable(GOOD.getBytes(StandardCharsets.UTF_16)));
    byte[] damaged = (GOOD + "\n" + GOOD).getBytes(StandardCharsets.UTF_8);
    damaged[GOOD.indexOf("\"a\"") + 1] = (byte) 0xff;
    assertEquals(List.of(2), readable(damaged));
  }

  @Test
  void read_linesAfterASkippedOne_areReadable() throws UnreadableException {
    byte[] batch = (GOOD + "\n" + GOOD + "\n" + GOOD).getBytes(StandardCharsets.UTF_8);
    int length = GOOD.length();
    CallLineReader reader = new CallLineReader();

    assertEquals("1", reader.read(batch, 0, length).id.toString());
    assertEquals("1", reader.read(batch, 2 * (length + 1), batch.length).id.toString());
    assertEquals("1", reader.read(batch, 0, length).id.toString());
  }
}
