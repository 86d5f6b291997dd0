// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
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
    List<String> rows = Files.readAllLines(Markdown.OPERATE.resolve("watch.md"));
    for (JsonNode rule : AlertRules.all()) {
      String alert = rule.path("alert").asText();
      String runbook = rule.path("annotations").path("runbook").asText();

      String[] link = runbook.split("#", 2);
      assertEquals(2, link.length, () -> alert + ": " + runbook + " names no heading");
      Path page = Markdown.ROOT.resolve(link[0]);
      Set<String> anchors = Markdown.anchors(Files.readString(page));
      assertTrue(
          anchors.contains(link[1]), () -> alert + ": " + runbook + " is none of " + anchors);
      String linkOfTheRow = "](" + page.getFileName() + "#" + link[1] + ")";
      assertTrue(
          rows.stream()
              .anyMatch(row -> row.startsWith("| `" + alert + "` |") && row.contains(linkOfTheRow)),
          () -> "watch.md has no row of " + alert + " with its runbook " + runbook);
    }
  }
}
