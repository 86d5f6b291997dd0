// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.event;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.cloudevents.CloudEvent;
import io.cloudevents.core.builder.CloudEventBuilder;
import io.weir.ingest.gate.Usage;
import io.weir.limits.Names;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The usage that events report, by the rules. */
final class EventRulesTest {
  private static final JsonMapper JSON =
      JsonMapper.builder().enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS).build();

  private static final long NOW = Instant.parse("2026-11-26T12:00:00Z").toEpochMilli();
  private static final Duration MAX_AGE = Duration.ofDays(34);

  private static final String RULES =
      """
      types:
        request:
          meter: requests
          endpoint: {property: $.route, values: [/hello, /bye], other: "-"}
        prompt: {meter: tokens, endpoint: gpt, value: usage.tokens}
        job: {meter: job_ms, value: $.seconds, scale: 3, endpoint: {property: kind, values: [a]}}
      """;

  @Test
  void event_isCounted_byTheRuleOfItsType() throws Exception {
    Usage request = usage(rules(RULES), event("request"), "{\"route\":\"/hello\"}");
    assertEquals(new Usage("ce:1:s:1", "acme", "/hello", "requests", 1, NOW), request);
    assertEquals("-", usage(rules(RULES), event("request"), "{\"route\":\"/x\"}").endpoint());
    assertEquals("-", usage(rules(RULES), event("request"), "{\"route\":[1]}").endpoint());

    Usage prompt = usage(rules(RULES), event("prompt"), "{\"usage\":{\"tokens\":\"123456\"}}");
    assertEquals(new Usage("ce:1:s:1", "acme", "gpt", "tokens", 123_456, NOW), prompt);
  }

  @Test
  void endpoint_thatIsNotAllowed_isRefused_ifThereIsNoOther() throws Exception {
    assertEquals(
        1, usage(rules(RULES), event("job"), "{\"kind\":\"a\",\"seconds\":0.001}").quantity());
    assertRefused("data.kind", rules(RULES), event("job"), "{\"kind\":\"b\",\"seconds\":1}");
  }

  @Test
  void type_withoutARule_isRefused_andNamed_unlessThereIsOneForOthers() throws Exception {
    RefusedEventException refused = assertRefused("type", rules(RULES), event("mail.sent"), "{}");
    assertTrue(refused.rule().contains("'mail.sent'"), refused::rule);
    assertRefused("type", EventRules.none(), event("request"), "{}");

    EventRules others = rules("other_types: {meter: events}");
    assertEquals("events", usage(others, event("mail.sent"), "null").meter());
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0, 0", "1, 0, 1", "1.0, 0, 1", "1e3, 0, 1000", "9007199254740991, 0, 9007199254740991",
    "1.5, 3, 1500", "0.001, 3, 1", "12.000, 3, 12000", "1e-9, 9, 1", "'\"12\"', 0, 12",
    "'\"0.5\"', 1, 5", "0.1, 1, 1", "9007199254740.991, 3, 9007199254740991"
  })
  void value_isTakenExactly(String value, int scale, long quantity) throws Exception {
    EventRules rules = rules("other_types: {meter: m, value: v, scale: " + scale + "}");
    assertEquals(quantity, usage(rules, event("t"), "{\"v\":" + value + "}").quantity());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"v\":-1}",
        "{\"v\":0.0001}",
        "{\"v\":9007199254740.992}",
        "{\"v\":1e999999999}",
        "{\"v\":1e-999999999}",
        "{\"v\":\"\"}",
        "{\"v\":\"x\"}",
        "{\"v\":\"1 \"}",
        "{\"v\":true}",
        "{\"v\":null}",
        "{\"v\":[1]}",
        "{\"v\":{}}",
        "{}",
        "[]",
        "{\"v\":\"1e2147483648\"}",
        "{\"v\":\"٣\"}",
        "{\"v\":\"1٣.5\"}",
        "{\"v\":\"３\"}"
      })
  void value_thatIsNoQuantity_isRefused_neverRounded(String data) throws Exception {
    assertRefused("data.v", rules("other_types: {meter: m, value: v, scale: 3}"), event("t"), data);
  }

  @Test
  void data_thatIsMissing_isRefused_onlyIfARuleLooksAtIt() throws Exception {
    assertRefused("data", rules("other_types: {meter: m, value: v}"), event("t"), null);
    assertEquals(1, usage(rules("other_types: {meter: m}"), event("t"), null).quantity());
  }

  @Test
  void time_isThatOfTheEvent_withinBounds() throws Exception {
    EventRules rules = rules("other_types: {meter: m}");
    for (long at : List.of(NOW, NOW - 1, NOW + 60_000, NOW - MAX_AGE.toMillis())) {
      assertEquals(at, usage(rules, dated(Instant.ofEpochMilli(at)), null).atEpochMillis());
    }
    assertRefused("time", rules, dated(Instant.ofEpochMilli(NOW + 61_000)), null);
    assertRefused(
        "time", rules, dated(Instant.ofEpochMilli(NOW - MAX_AGE.toMillis() - 1_000)), null);
    assertRefused("time", rules, dated(OffsetDateTime.MAX), null);
    assertRefused("time", rules, dated(OffsetDateTime.MIN), null);
  }

  @Test
  void subject_isTheClient_andMustBeAName() throws Exception {
    EventRules rules = rules("other_types: {meter: m}");
    CloudEventBuilder none =
        CloudEventBuilder.v1().withId("1").withType("t").withSource(URI.create("s"));
    assertRefused("subject", rules, none.build(), null);
    assertRefused("subject", rules, none.withSubject("").build(), null);
    assertRefused("subject", rules, none.withSubject("a\n").build(), null);
    assertRefused("subject", rules, none.withSubject("x".repeat(257)).build(), null);
    assertRefused("id", rules, none.withSubject("a").withId("\ud800").build(), null);
    assertRefused("id", rules, none.withId("x".repeat(2_049)).build(), null);
  }

  /**
   * No two different pairs of source and id have the same id, even if their concatenations are
   * equal.
   */
  @Test
  void id_isInjective_andAlwaysAName() {
    Map<String, List<String>> pairs = new HashMap<>();
    Random random = new Random(7);
    for (int i = 0; i < 200_000; i++) {
      List<String> pair = List.of(part(random), part(random));
      String id = EventRules.callId(pair.get(0), pair.get(1));
      assertNull(Names.violation(id));
      List<String> known = pairs.putIfAbsent(id, pair);
      assertEquals(known == null ? pair : known, pair);
    }
    assertEquals("ce:5:/a/b::1", EventRules.callId("/a/b:", "1"));
    assertNotEquals(
        EventRules.callId("x".repeat(300), "1"), EventRules.callId("x".repeat(301), "1"));
    assertTrue(EventRules.callId("x".repeat(300), "1").startsWith("ce-sha256:"));
  }

  private static String part(Random random) {
    int length = random.nextInt(40) == 0 ? 250 + random.nextInt(20) : 1 + random.nextInt(4);
    StringBuilder part = new StringBuilder();
    for (int i = 0; i < length; i++) {
      part.append(length > 4 ? 'a' : ":1ae/é".charAt(random.nextInt(6)));
    }
    return part.toString();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "7                                              | the file must contain a mapping",
        "typos: {}                                      | the file must contain a mapping",
        "types: []                                      | types must be a mapping",
        "{types: {}, colour: red}                       | colour is not known here",
        "types: {a: b}                                  | types.a must be a mapping with the field 'meter'",
        "types: {a: {}}                                 | types.a.meter is missing",
        "types: {a: {meter: m, scale: 2}}               | types.a.scale requires the field value",
        "types: {a: {meter: m, value: v, scale: 10}}    | types.a.scale must be an integer from 0 to 9",
        "types: {a: {meter: m, value: '$.a[0]'}}        | types.a.value must name a member",
        "types: {a: {meter: m, endpoint: {property: p}}} | types.a.endpoint.values must be a list of 1 to",
        "types: {a: {meter: m, endpoint: {property: p, values: [1]}}} | values must contain only strings",
        "types: {a: {meter: m, price: 1}}               | types.a.price is not known here",
        "'{'                                            | line 1",
      })
  void file_withAMistake_isRefused_andTheMistakeIsNamed(String yaml, String problem) {
    EventRulesFile.Content.Invalid invalid =
        assertInstanceOf(
            EventRulesFile.Content.Invalid.class, EventRulesFile.parse(yaml, MAX_AGE), yaml);
    assertTrue(String.join("\n", invalid.problems()).contains(problem), invalid::toString);
  }

  private static EventRules rules(String yaml) {
    return assertInstanceOf(EventRulesFile.Content.Valid.class, EventRulesFile.parse(yaml, MAX_AGE))
        .rules();
  }

  private static CloudEvent event(String type) {
    return builder().withType(type).build();
  }

  private static CloudEvent dated(Instant time) {
    return dated(time.atOffset(ZoneOffset.UTC));
  }

  private static CloudEvent dated(OffsetDateTime time) {
    return builder().withType("t").withTime(time).build();
  }

  private static CloudEventBuilder builder() {
    return CloudEventBuilder.v1().withId("1").withSource(URI.create("s")).withSubject("acme");
  }

  private static Usage usage(EventRules rules, CloudEvent event, @Nullable String data)
      throws RefusedEventException, JsonProcessingException {
    JsonNode json = data == null ? null : JSON.readTree(data);
    return rules.usage(event, () -> json, NOW);
  }

  private static RefusedEventException assertRefused(
      String field, EventRules rules, CloudEvent event, @Nullable String data) {
    RefusedEventException refused =
        assertThrows(RefusedEventException.class, () -> usage(rules, event, data));
    assertEquals(field, refused.field());
    return refused;
  }
}
