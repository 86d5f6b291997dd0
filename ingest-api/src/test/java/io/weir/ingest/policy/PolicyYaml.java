// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.policy.PolicySet;
import java.util.List;

/** Policy files that are read in tests. */
final class PolicyYaml {
  private PolicyYaml() {}

  /** Returns the policies of a file that must be valid. */
  static PolicySet valid(String yaml) {
    PolicyFile.Content content = PolicyFile.parse(yaml);
    return assertInstanceOf(PolicyFile.Content.Valid.class, content, content::toString).policies();
  }

  /** Returns the problems of a file that must be invalid. */
  static List<String> invalid(String yaml) {
    return assertInstanceOf(PolicyFile.Content.Invalid.class, PolicyFile.parse(yaml)).problems();
  }

  /** Requires a problem that begins so. */
  static void assertHolds(List<String> problems, String expected) {
    assertTrue(
        problems.stream().anyMatch(problem -> problem.startsWith(expected)),
        () -> "'" + expected + "' is not among " + problems);
  }
}
