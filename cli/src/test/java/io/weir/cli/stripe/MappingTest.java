// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class MappingTest {
  @Test
  void parse_yamlAndJson_agree() throws Exception {
    Mapping mapping =
        Mapping.parse(
            """
            customers: {acme: cus_1, "1.10": cus_2}
            meters: {calls: api_calls}
            not_billed: {clients: [own], meters: [bytes]}
            negative: send
            """);

    assertEquals(
        new Mapping(
            Map.of("acme", "cus_1", "1.10", "cus_2"),
            Map.of("calls", "api_calls"),
            Set.of("own"),
            Set.of("bytes"),
            true),
        mapping);
    assertEquals(
        new Mapping(Map.of("a", "c"), Map.of("m", "e"), Set.of(), Set.of(), false),
        Mapping.parse("{\"customers\":{\"a\":\"c\"},\"meters\":{\"m\":\"e\"}}"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "[]| must be a mapping with customers and meters",
        "{customers: {a: c}}| meters must be a mapping of names to names, with at least one entry",
        "{customers: {a: 7}, meters: {m: e}}| customers.a must be a name",
        "{customers: {a: c}, meters: {m: e}, customer: {}}| customer is not known",
        "{customers: {a: c}, meters: {m: e}, not_billed: {client: [a]}}| not_billed.client is not",
        "{customers: {a: c}, meters: {m: e}, not_billed: {clients: [a]}}| a is in customers and",
        "{customers: {a: c}, meters: {m: e}, not_billed: {meters: m}}| must be a list of names",
        "{customers: {a: c}, meters: {m: e}, negative: drop}| negative must be keep or send",
        "{customers: {a: c, a: d}, meters: {m: e}}| a"
      })
  void parse_wrong_isRefusedWithTheReason(String yaml, String reason) {
    IllegalArgumentException wrong =
        assertThrows(IllegalArgumentException.class, () -> Mapping.parse(yaml));

    assertTrue(String.valueOf(wrong.getMessage()).contains(reason), wrong::getMessage);
  }
}
