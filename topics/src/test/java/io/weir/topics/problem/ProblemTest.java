// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.problem;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

final class ProblemTest {
  private static final ProblemPages PAGES = ProblemPages.load();

  private static String json(Problem problem) {
    return new String(problem.toJson(), StandardCharsets.UTF_8);
  }

  @Test
  void toJson_ofAField_namesIt() {
    assertEquals(
        "{\"type\":\"/problems/invalid-member\",\"title\":\"A member is missing or wrong\","
            + "\"status\":400,\"detail\":\"client is missing\",\"reason\":\"invalid-member\","
            + "\"field\":\"client\"}",
        json(Problem.ofField(ProblemReason.INVALID_MEMBER, "client", "is missing")));
  }

  @Test
  void toJson_ofRegisteredType_keepsIt_andTellsApartByReason() {
    assertEquals(
        "{\"type\":\"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity\","
            + "\"title\":\"Temporarily reduced capacity\",\"status\":503,\"detail\":\"d\","
            + "\"reason\":\"overloaded\"}",
        json(Problem.of(ProblemReason.OVERLOADED, "d")));
  }

  @Test
  void toJson_ofAPartition_namesIt() {
    String json = json(Problem.partitionUnavailable(3, "nobody answers"));

    assertTrue(json.endsWith("\"missing_partitions\":[3]}"), json);
  }

  @Test
  void malformed_keepsTheServersStatus() {
    assertEquals(431, Problem.malformed(431, "header fields too large").status());
  }

  @Test
  void pages_areOfAllReasons_andOfNothingElse() {
    Set<String> words =
        Arrays.stream(ProblemReason.values()).map(ProblemReason::word).collect(Collectors.toSet());

    assertEquals(words, PAGES.words());
    assertNull(PAGES.page("no-such-reason"));
  }

  @ParameterizedTest
  @EnumSource(ProblemReason.class)
  void page_saysStatus_andWhatToDo(ProblemReason reason) {
    String page = PAGES.page(reason.word());

    assertNotNull(page);
    assertTrue(page.startsWith("## " + reason.word()), page);
    assertTrue(
        page.contains("**" + reason.status())
            || (reason == ProblemReason.MALFORMED_REQUEST && page.contains("**4xx")),
        page);
    assertTrue(page.contains("*What to do:*"), page);
  }
}
