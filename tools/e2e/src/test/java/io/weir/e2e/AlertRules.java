// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.weir.testing.Checkout;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The alerts that the documentation offers for Prometheus, and their tests. */
final class AlertRules {
  static final Path RULES = Checkout.file("docs/alerts.yml");
  static final Path TESTS = Checkout.file("docs/alerts-test.yml");

  private AlertRules() {}

  /** The rules of all groups, in the order of the file. */
  static List<JsonNode> all() throws IOException {
    List<JsonNode> rules = new ArrayList<>();
    read(RULES).path("groups").forEach(group -> group.path("rules").forEach(rules::add));
    return rules;
  }

  /** What the tests expect of an alert at one moment each: empty when it must not fire. */
  static List<JsonNode> expectations(String alert) throws IOException {
    List<JsonNode> expected = new ArrayList<>();
    for (JsonNode test : read(TESTS).path("tests")) {
      for (JsonNode moment : test.path("alert_rule_test")) {
        if (moment.path("alertname").asText().equals(alert)) {
          expected.add(moment.path("exp_alerts"));
        }
      }
    }
    return expected;
  }

  private static JsonNode read(Path file) throws IOException {
    return new YAMLMapper().readTree(file.toFile());
  }
}
