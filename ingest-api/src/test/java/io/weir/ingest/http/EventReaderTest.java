// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.ingest.event.EventRulesFile;
import io.weir.ingest.gate.Usage;
import io.weir.topics.problem.Problem;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Random;
import org.eclipse.jetty.http.HttpFields;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Reading CloudEvents: each is read, or refused with a reason. */
final class EventReaderTest {
  private static final long NOW = Instant.parse("2026-11-26T12:00:00Z").toEpochMilli();
  private static final ObjectMapper JSON = new ObjectMapper();

  private static final String EVENT =
      """
      {"specversion":"1.0","type":"prompt","id":"00001","time":"2026-11-26T11:59:00.001Z",
       "source":"service-0","subject":"customer-1","data":{"tokens":"12","cost":0.1}}
      """;

  private final EventReader reader =
      new EventReader(
          assertInstanceOf(
                  EventRulesFile.Content.Valid.class,
                  EventRulesFile.parse(
                      """
                      types:
                        prompt: {meter: tokens, value: tokens}
                        cost: {meter: tenths, value: cost, scale: 1}
                      """,
                      Duration.ofDays(34)))
              .rules());

  @Test
  void structuredEvent_isRead_andDecimalsAreExact() throws Exception {
    Usage usage = reader.structured(bytes(EVENT), NOW);
    assertEquals("customer-1", usage.client());
    assertEquals(12, usage.quantity());
    assertEquals(Instant.parse("2026-11-26T11:59:00.001Z").toEpochMilli(), usage.atEpochMillis());
    String tenth = EVENT.replace("prompt", "cost");
    assertEquals(1, reader.structured(bytes(tenth), NOW).quantity());
  }

  @Test
  void dataInBase64_isRead() throws Exception {
    String event =
        EVENT.replace(
            "\"data\":{\"tokens\":\"12\",\"cost\":0.1}", "\"data_base64\":\"eyJ0b2tlbnMiOjd9\"");
    assertEquals(7, reader.structured(bytes(event), NOW).quantity());
  }

  @Test
  void binaryEvent_isRead_asTheStructuredOneIs() throws Exception {
    assertEquals(
        reader.structured(bytes(EVENT), NOW),
        reader.binary(binary().asImmutable(), bytes("{\"tokens\":\"12\"}"), NOW));
  }

  @Test
  void binaryEvent_withAnAttributeTwice_orBeyondAscii_isRefused() {
    HttpFields twice = binary().add("CE-Subject", "other").asImmutable();
    assertField("ce-subject", () -> reader.binary(twice, bytes("{\"tokens\":1}"), NOW));
    HttpFields accent = binary().put("ce-subject", "caf\u00e9").asImmutable();
    assertField("ce-subject", () -> reader.binary(accent, bytes("{\"tokens\":1}"), NOW));
    HttpFields text = binary().put("Content-Type", "text/plain").asImmutable();
    assertField("data", () -> reader.binary(text, bytes("{\"tokens\":1}"), NOW));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "\"1.0\"            | \"2.0\"",
        "\"1.0\"            | \"0.3\"",
        "\"1.0\"            | 1",
        "\"id\":\"00001\"   | \"id\":7",
        "\"id\":\"00001\"   | \"no\":\"\"",
        "\"id\":\"00001\"   | \"id\":\"\"",
        "\"service-0\"      | \"a b\"",
        "\"service-0\"      | \"\"",
        "\"customer-1\"     | \"\\ud800\"",
        "\"customer-1\"     | null",
        "\"prompt\"         | \"\\ud800\\u0000\"",
        "2026-11-26T        | yesterday",
        "2026-11-26T        | 2023-01-01T",
        "{\"tokens\"        | {\"token\"",
        "\"subject\"        | \"type\"",
        "\"data\"           | \"data_base64\"",
      })
  void event_thatIsWrong_isRefused(String part, String instead) {
    assertTrue(EVENT.contains(part), part);
    assertRefused(EVENT.replace(part, instead));
  }

  @Test
  void batch_namesEachEvent_andMayBeEmpty() throws Exception {
    String other = EVENT.replace("prompt", "unknown");
    List<JsonBody.Element<Usage>> events =
        reader.batch(bytes("[" + EVENT + "," + other + ",7," + EVENT + "]"), NOW);
    assertEquals(4, events.size());
    assertNotNull(events.get(0).value());
    Problem unknown = assertInstanceOf(Problem.class, events.get(1).problem());
    assertEquals("type", unknown.field());
    assertTrue(unknown.detail().contains("'unknown'"), unknown::detail);
    assertNotNull(events.get(2).problem());
    assertNotNull(events.get(3).value());
    assertEquals(List.of(), reader.batch(bytes("[]"), NOW));
  }

  /** Whatever is sent, it is read or refused as the sender's mistake; never a fault of ours. */
  @Test
  void mutatedEvents_areReadOrRefused() throws Exception {
    Random random = new Random(17);
    int read = 0;
    for (int i = 0; i < 6_000; i++) {
      byte[] body = mutated(bytes(EVENT), random);
      read += isRead(() -> reader.structured(body, NOW)) ? 1 : 0;
      isRead(() -> reader.batch(bytes("[" + new String(body, StandardCharsets.UTF_8) + "]"), NOW));
      HttpFields.Mutable fields = binary();
      fields.put("ce-" + word(random), word(random));
      isRead(() -> reader.binary(fields.asImmutable(), body, NOW));
    }
    assertTrue(read > 200, "read " + read);
  }

  /** Reads something that throws {@link JsonBody.Invalid} if it is refused. */
  private interface Reading {
    Object read() throws JsonBody.Invalid;
  }

  private static boolean isRead(Reading reading) throws Exception {
    try {
      reading.read();
      return true;
    } catch (JsonBody.Invalid invalid) {
      assertEquals(400, JSON.readTree(invalid.problem().toJson()).path("status").asInt());
      return false;
    }
  }

  private static byte[] mutated(byte[] event, Random random) {
    byte[] bytes = event.clone();
    for (int i = random.nextInt(4); i > 0; i--) {
      byte[] hints = bytes("\"{}[],:\\u0aZ19- \u00e9");
      bytes[random.nextInt(bytes.length)] = hints[random.nextInt(hints.length)];
    }
    return bytes;
  }

  private static String word(Random random) {
    List<String> words =
        List.of(
            "id",
            "source",
            "type",
            "time",
            "specversion",
            "dataschema",
            "x_y",
            "1.0",
            "0.3",
            "2026-11-26T11:59:00Z",
            "",
            "a b",
            "%ff",
            "A",
            "datacontenttype",
            "extension");
    return words.get(random.nextInt(words.size()));
  }

  private static HttpFields.Mutable binary() {
    return HttpFields.build()
        .put("Content-Type", "application/json; charset=utf-8")
        .put("ce-specversion", "1.0")
        .put("ce-type", "prompt")
        .put("ce-id", "00001")
        .put("ce-source", "service-0")
        .put("ce-subject", "customer-1")
        .put("ce-time", "2026-11-26T11:59:00.001Z");
  }

  private void assertRefused(String event) {
    JsonBody.Invalid invalid =
        assertThrows(JsonBody.Invalid.class, () -> reader.structured(bytes(event), NOW), event);
    assertEquals(400, invalid.problem().status());
    assertTrue(invalid.problem().toJson().length > 0);
  }

  private static void assertField(String field, Reading reading) {
    assertEquals(field, assertThrows(JsonBody.Invalid.class, reading::read).problem().field());
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
