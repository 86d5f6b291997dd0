// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.ingest.policy.log.PolicyEntry;
import io.weir.ingest.policy.log.PolicyKey;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Versions that can be rebuilt from a compacted log of policies. */
final class PolicyVersionsTest {
  private static PolicyEntry entry(String text) {
    String[] parts = text.split("[@/]", -1); // name@version/part/parts
    long version = Long.parseLong(parts[1]);
    ObjectNode content = new ObjectMapper().createObjectNode().put("name", parts[0]);
    content
        .putObject("limit")
        .put("capacity", version)
        .put("refill_tokens", 1)
        .put("refill_period", "PT1S");
    return new PolicyEntry(
        PolicyKey.ofPolicy(parts[0]),
        new PolicyEntry.Change(
            version,
            parts.length > 2 ? Integer.parseInt(parts[3]) : 1,
            version,
            0,
            0,
            "test",
            "change-" + version),
        0,
        content,
        null);
  }

  @ParameterizedTest(name = "{0}: {2}")
  @CsvSource({
    "whole,                                      a@1 a@2 b@3,                 1 2 3",
    "the first was replaced,                     a@2 a@3,                     2 3",
    // the missing entry may be an earlier entry of b, so version 3 is unknown
    "one before a new key is missing,            a@1 a@3 b@4,                 1 4",
    "the first one and a new key after it,       a@2 b@3,                     3",
    "a part is missing,                          a@1 a@2/1/2 b@3,             1 3",
    "all parts are there,                        a@1 a@2/1/2 b@2/2/2,         1 2",
    "nothing,                                    '',                          ''",
  })
  void versions_areKnownWhileNothingOfThemCanBeMissing(String what, String log, String known) {
    List<PolicyEntry> entries = new ArrayList<>();
    for (String each : log.isEmpty() ? new String[0] : log.split(" ")) {
      entries.add(entry(each));
    }
    PolicyVersions versions = new PolicyVersions(entries, null);

    List<String> answers = new ArrayList<>();
    for (long version = 0; version <= 5; version++) {
      if (versions.at(version, 0) != null) {
        answers.add(Long.toString(version));
      }
    }

    assertEquals(known, String.join(" ", answers), what);
  }
}
