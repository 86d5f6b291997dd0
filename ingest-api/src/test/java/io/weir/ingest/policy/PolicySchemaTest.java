// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy;

import static java.util.Map.entry;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import io.weir.ingest.policy.PolicyFile.Content;
import io.weir.testing.Checkout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The schema of policy files against the reader of policy files. */
final class PolicySchemaTest {
  private static final int SEEDS = 5_000;

  private static final JsonSchema SCHEMA =
      JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012).getSchema(PolicyFile.schema());

  /** Values that a field may have, right and wrong ones; each is YAML in flow style. */
  private static final Map<String, List<String>> FIELDS =
      Map.ofEntries(
          entry(
              "match",
              List.of(
                  "{}",
                  "{client: [a, \"b*\"]}",
                  "{endpoint: [\"GET /v1/*\"], meter: [calls]}",
                  "{client: []}",
                  "{path: [a]}",
                  "{ip: [203.0.113.0/24, \"2001:db8::/32\", \"::1\"]}",
                  "{ip: [203.0.113.9/24]}",
                  "{attributes: {region: [\"eu-*\"], beta: [\"true\"]}}",
                  "{attributes: {region: eu}}",
                  "[a]")),
          entry(
              "key",
              List.of(
                  "[client]",
                  "[client, endpoint]",
                  "[endpoint]",
                  "[]",
                  "[plan, ip]",
                  "[client, plan]",
                  "[client, client]",
                  "[port]",
                  "c")),
          entry("replaces", List.of("[]", "[a, b]", "[a, a]", "a", "[1]")),
          entry(
              "limit",
              List.of(
                  "{capacity: 5, refill_tokens: 1, refill_period: PT1M}",
                  "{algorithm: token-bucket, capacity: 5, refill_tokens: 1, refill_period: P1DT0.5S}",
                  "{algorithm: token-bucket, capacity: 0, refill_tokens: 1, refill_period: PT1M}",
                  "{algorithm: token-bucket, capacity: 5, refill_tokens: 1, refill_period: 1m}",
                  "{capacity: 5}",
                  "{algorithm: quota, limit: 10, period: day, time_zone: Europe/Paris}",
                  "{algorithm: quota, limit: 10, period: billing, billing_anchor: 2026-01-31}",
                  "{algorithm: quota, limit: 10, period: year}",
                  "{algorithm: quota, limit: 10, period: day, capacity: 1}",
                  "{algorithm: fixed-window, limit: 10, window: PT1M, align: calendar}",
                  "{algorithm: fixed-window, limit: 10}",
                  "{algorithm: leaky-bucket, capacity: 5, leak_tokens: 1, leak_period: PT1S, queue: true}",
                  "{algorithm: leaky-bucket, capacity: 5, leak_tokens: 1, leak_period: PT1S, queue: 1}",
                  "{algorithm: leaky-bucket, capacity: 5, refill_tokens: 1, refill_period: PT1S}",
                  "{algorithm: deny}",
                  "{algorithm: deny, limit: 5}",
                  "{algorithm: sliding-window, limit: 10, window: PT1M, sub_windows: 4}",
                  "{algorithm: sliding-window, limit: 10, window: PT1M}",
                  "{algorithm: sliding-window, limit: 10, window: PT1M, sub_windows: 61}",
                  "{algorithm: sliding-window, limit: 10, window: PT1M, align: epoch}",
                  "{algorithm: fixed-window, limit: 10, window: PT1M, reset_jitter: PT10S}",
                  "{algorithm: fixed-window, limit: 10, window: PT1M, reset_jitter: 10}",
                  "{algorithm: sliding-window, limit: 10, window: PT1M, reset_jitter: PT1M}",
                  "{algorithm: sliding-log, limit: 10, window: PT0.5S}",
                  "{algorithm: sliding-log, limit: 10001, window: PT1M}",
                  "{algorithm: sliding-log, limit: 10, window: PT1M, sub_windows: 2}",
                  "{algorithm: sliding-log}",
                  "{algorithm: concurrency, limit: 10000, lease: PT30S}",
                  "{algorithm: concurrency, limit: 10001, lease: PT30S}",
                  "{algorithm: concurrency, limit: 0, lease: PT30S}",
                  "{algorithm: concurrency, limit: 5, lease: PT30S, window: PT1M}",
                  "{algorithm: concurrency, limit: 5}")),
          entry("mode", List.of("enforce", "shadow", "off", "\"off\"", "false", "true", "on")),
          entry("on_cache_failure", List.of("local", "open", "closed", "shut")),
          entry("on_cold_cache", List.of("allow", "hold", "deny")),
          entry("debt_cap", List.of("0", "5", "-1", "many")),
          entry(
              "effective_from",
              List.of("2026-12-01T00:00:00Z", "\"2026-12-01T00:00:00.5+01:00\"", "tomorrow", "5")),
          entry(
              "lease",
              List.of(
                  "{tokens: 50%, for: PT0.2S}", "{tokens: 2}", "{tokens: 1}", "{for: PT1S}", "5%")),
          entry("x-owner", List.of("{team: a}")),
          entry(
              "ip_prefix",
              List.of("{}", "{ipv4: 24, ipv6: 56}", "{ipv4: 0}", "{ipv6: 129}", "24")));

  private static final String HASH = "%064x".formatted(0xabc);

  private static final List<String> TOP_FIELDS =
      List.of(
          "version: 3",
          "plans: {free: {policies: [p]}, pro: {policies: []}}",
          "unknown_clients: refuse",
          "unmatched_calls: refuse",
          "unmatched_calls: limit",
          "unknown_clients: limit",
          "clients: {a: {}, b: {time_zone: UTC}, c: {limits: {p: {algorithm: deny}}}}",
          "clients: {a: {api_keys: [{id: a.1, sha256: %s}]}, b: {api_keys: []}}".formatted(HASH),
          "clients: {a: {api_keys: [{id: a_-1, sha256: %s, expires_at: 2027-01-01T00:00:00+01:00}]}}"
              .formatted(HASH),
          "clients: {a: {api_keys: [{id: a, sha256: %s}]}, b: {api_keys: [{id: a, sha256: %s}]}}"
              .formatted(HASH, HASH),
          "clients: {a: {api_keys: [{id: weir_a, sha256: %s}]}}".formatted(HASH),
          "x-own: [1]");

  @Test
  void whateverIsAccepted_fitsTheSchema() {
    int accepted = 0;
    for (long seed = 1; seed <= SEEDS; seed++) {
      String yaml = yaml(new Random(seed));
      Content content = PolicyFile.parse(yaml);
      if (content instanceof Content.Valid valid) {
        accepted++;
        assertEquals(List.of(), problems(valid.tree()), "seed " + seed + "\n" + yaml);
      }
    }
    assertTrue(accepted > SEEDS / 50, "too few to tell: " + accepted);
  }

  private static String yaml(Random random) {
    StringBuilder yaml = new StringBuilder();
    for (String top : TOP_FIELDS) {
      if (random.nextInt(4) == 0) {
        yaml.append(top).append('\n');
      }
    }
    yaml.append("policies:\n  - name: p\n");
    List<String> names = new ArrayList<>(FIELDS.keySet());
    names.sort(String::compareTo);
    for (String field : names) {
      if (field.equals("limit") || random.nextInt(4) == 0) {
        List<String> values = FIELDS.getOrDefault(field, List.of());
        yaml.append("    ")
            .append(field)
            .append(": ")
            .append(values.get(random.nextInt(values.size())))
            .append('\n');
      }
    }
    return yaml.toString();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "policies: {}",
        "policy: []",
        "policies: [{name: a}]",
        "policies: [{name: '', limit: {algorithm: deny}}]",
        "policies: [{name: a, limits: {algorithm: deny}}]",
        "policies: [{name: a, limit: {algorithm: deny}, mode: on}]",
        "policies: [{name: a, limit: {algorithm: deny}, key: [port]}]",
        "policies: [{name: a, limit: {algorithm: deny}, key: [client, plan]}]",
        "policies: [{name: a, limit: {algorithm: deny}, key: [ip], ip_prefix: {ipv4: 33}}]",
        "policies: [{name: a, limit: {algorithm: deny}, match: {ip: [localhost]}}]",
        "policies: [{name: a, limit: {algorithm: deny}, match: {attributes: {a: b}}}]",
        "policies: [{name: a, limit: {algorithm: deny}, effective_from: tomorrow}]",
        "policies: [{name: a, limit: {capacity: 1.5, refill_tokens: 1, refill_period: PT1M}}]",
        "policies: [{name: a, limit: {capacity: 5, refill_tokens: 1, refill_period: minute}}]",
        "policies: [{name: a, limit: {algorithm: quota, limit: 5, period: year}}]",
        "policies: [{name: a, match: {client: a}, limit: {algorithm: deny}}]",
        "{policies: [], clients: {a: []}}",
        "{policies: [], plans: {a: []}}",
        "{policies: [], plans: {a: {policies: [1]}}}",
        "{policies: [], unknown_clients: deny}",
        "{policies: [], clients: {a: {limits: {b: {capacity: 0}}}}}",
        "{policies: [], clients: {a: {zone: UTC}}}",
        "{policies: [], clients: {a: {api_keys: {}}}}",
        "{policies: [], clients: {a: {api_keys: [a]}}}",
        "{policies: [], clients: {a: {api_keys: [{id: a, sha256: ab}]}}}",
        "{policies: [], clients: {a: {api_keys: [{id: a, sha256: weir_a}]}}}",
        "{policies: [], clients: {a: {api_keys: [{id: a}]}}}",
        "{policies: [], clients: {a: {api_keys: [{id: a b, sha256: '"
            + "00000000000000000000000000000000000000000000000000000000000000ab'}]}}}"
      })
  void whatIsWrongInAField_doesNotFit(String yaml) {
    assertInstanceOf(Content.Invalid.class, PolicyFile.parse(yaml));
    assertTrue(!problems(tree(yaml)).isEmpty());
  }

  @Test
  void fileOfTheRepository_fits() throws Exception {
    Content content = PolicyFile.read(Checkout.file("deploy/policies.yml"));
    assertEquals(List.of(), problems(assertInstanceOf(Content.Valid.class, content).tree()));
  }

  /** An exported file can be applied: parsing it gives the same policies. */
  @Test
  void yaml_ofATree_readsAsTheSame() {
    int compared = 0;
    for (long seed = 1; seed <= SEEDS; seed++) {
      if (PolicyFile.parse(yaml(new Random(seed))) instanceof Content.Valid valid) {
        compared++;
        Content.Valid again =
            assertInstanceOf(Content.Valid.class, PolicyFile.parse(PolicyFile.yaml(valid.tree())));
        assertEquals(valid.tree().toString(), again.tree().toString());
        assertEquals(valid.policies(), again.policies());
      }
    }
    assertTrue(compared > SEEDS / 50, "too few to tell: " + compared);
  }

  private static JsonNode tree(String yaml) {
    try {
      return YamlTree.of(yaml);
    } catch (YamlTree.NotYamlException notYaml) {
      throw new AssertionError(notYaml);
    }
  }

  private static List<String> problems(JsonNode tree) {
    return SCHEMA.validate(tree).stream().map(Object::toString).toList();
  }
}
