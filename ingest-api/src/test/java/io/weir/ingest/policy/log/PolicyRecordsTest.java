// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.ingest.policy.log.PolicyEntry.Change;
import io.weir.topics.wire.MalformedRecordException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class PolicyRecordsTest {
  private static final Change FIRST = new Change(7, 3, 6, 7, 1_000, "a \"b\"", "id-1");
  private static final Change SECOND = new Change(8, 3, 6, 8, 1_001, "", "id-2");

  private final PolicyRecords records = new PolicyRecords();

  @Test
  void records_areThoseOfTheCodec_inAnyOrder() throws Exception {
    Random random = new Random(37);
    List<String> contents = List.of("{}", "{\"a\":1}", "{\"a\":{\"b\":[1,2]}}", "{\"client\":{}}");
    for (int i = 0; i < 20_000; i++) {
      PolicyKey key =
          random.nextInt(9) == 0 ? PolicyKey.ofPolicy("p") : PolicyKey.ofClient("c" + i);
      JsonNode content =
          random.nextInt(9) == 0 ? null : json(contents.get(random.nextInt(contents.size())));
      JsonNode before = content != null && random.nextInt(9) == 0 ? json("{\"u\":1}") : null;
      long order = random.nextInt(9) == 0 ? 3 : 0;
      PolicyEntry entry =
          new PolicyEntry(key, random.nextBoolean() ? FIRST : SECOND, order, content, before);

      byte[] value = records.encode(entry);

      assertArrayEquals(PolicyEntryCodec.encode(entry), value);
      assertEquals(entry, records.decode(key, value));
    }
  }

  @Test
  void equalContentsOfOneChange_areShared() throws Exception {
    PolicyEntry one = records.decode(PolicyKey.ofClient("a"), text("\"client\":{\"a\":1}}"));
    PolicyEntry other = records.decode(PolicyKey.ofClient("b"), text("\"client\":{\"a\":1}}"));

    assertSame(one.change(), other.change());
    assertSame(one.contentText(), other.contentText());
    assertEquals(PolicyKey.ofClient("b"), other.key());
  }

  /** Regression: each change of a client with many API keys stayed in memory. */
  @Test
  void largeContents_areNotKept_butTheirChangeIsShared() throws Exception {
    byte[] value = text("\"client\":{\"a\":\"" + "x".repeat(1_000) + "\"}}");
    PolicyEntry one = records.decode(PolicyKey.ofClient("a"), value);
    PolicyEntry other = records.decode(PolicyKey.ofClient("b"), value);

    assertNotSame(one.contentText(), other.contentText());
    assertSame(one.change(), other.change());
    assertEquals(one.content(), other.content());
  }

  /** Regression: after this many contents, no later change was recognized. */
  @Test
  void afterManyContents_aKnownContentOfALaterChangeIsShared() throws Exception {
    PolicyEntry first = records.decode(PolicyKey.ofClient("a"), text("\"client\":{\"a\":0}}"));
    for (int i = 1; i <= 10_000; i++) {
      records.decode(PolicyKey.ofClient("a"), text("\"client\":{\"a\":" + i + "}}"));
    }
    byte[] later = PolicyEntryCodec.encode(first.ofChange(SECOND));

    PolicyEntry one = records.decode(PolicyKey.ofClient("b"), later);
    PolicyEntry other = records.decode(PolicyKey.ofClient("c"), later);

    assertSame(one.change(), other.change());
    assertSame(first.contentText(), other.contentText());
  }

  @Test
  void recordsThatDifferFromAKnownOne_areParsed() throws Exception {
    PolicyKey key = PolicyKey.ofClient("a");
    records.decode(key, text("\"client\":{\"a\":1}}"));

    assertEquals(
        json("{\"a\":2}"), records.decode(key, text("\"client\" : {\"a\": 2} }")).content());
    assertEquals(
        json("{\"a\":1}"), records.decode(key, text("\"client\":{\"a\":1},\"x\":0}")).content());
    for (String broken : List.of("\"client\":{\"a\":1]", "\"client\":{\"a\":1}", "\"client\":{")) {
      assertThrows(MalformedRecordException.class, () -> records.decode(key, text(broken)), broken);
    }
    assertThrows(MalformedRecordException.class, () -> records.decode(key, null));
    assertThrows(MalformedRecordException.class, () -> records.decode(key, new byte[0]));
  }

  private static byte[] text(String rest) {
    String change = new String(PolicyEntryCodec.encodeChange(FIRST), StandardCharsets.UTF_8);
    return (change + "," + rest).getBytes(StandardCharsets.UTF_8);
  }

  private static JsonNode json(String text) throws Exception {
    return PolicyEntryCodec.JSON.readTree(text);
  }
}
