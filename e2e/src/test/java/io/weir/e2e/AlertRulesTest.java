// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each alert that the documentation offers is one of Prometheus, is fired once, and explained. */
final class AlertRulesTest {
  @TempDir private Path folder;

  @Test
  void rules_areRulesOfPrometheus() throws Exception {
    Promtool.run(folder, "check", "rules", AlertRules.RULES.toString());
  }

  @Test
  void everyAlert_firesWhenItShould_andOnlyThen() throws Exception {
    Promtool.run(folder, "test", "rules", AlertRules.TESTS.toString());
  }

  @Test
  void everyAlert_hasATestInWhichItFires_andOneInWhichItDoesNot() throws Exception {
    List<JsonNode> rules = AlertRules.all();
    assertFalse(rules.isEmpty());
    for (JsonNode rule : rules) {
      String alert = rule.path("alert").asText();
      List<JsonNode> expected = AlertRules.expectations(alert);

      assertTrue(
          expected.stream().anyMatch(alerts -> !alerts.isEmpty()),
          () -> alert + " fires in no test of " + AlertRules.TESTS);
      assertTrue(
          expected.stream().anyMatch(JsonNode::isEmpty),
          () -> alert + " stays quiet in no test of " + AlertRules.TESTS);
    }
  }

  @Test
  void everyAlert_isExplained_andItsRunbookExists() throws Exception {
    String operating = Files.readString(Markdown.OPERATING);
    Set<String> anchors = Markdown.anchors(operating);
    for (JsonNode rule : AlertRules.all()) {
      String alert = rule.path("alert").asText();
      String runbook = rule.path("annotations").path("runbook").asText();

      assertTrue(operating.contains("| `" + alert + "` |"), alert);
      assertTrue(
          anchors.contains(runbook), () -> alert + ": " + runbook + " is none of " + anchors);
    }
  }
}
