// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.problem;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class RoutesTest {
  @ParameterizedTest
  @CsvSource({
    "CHECK_API,/v1/usage/acme/current,the reports API",
    "CHECK_API,/v1/completeness,the reports API",
    "REPORTS_API,/v1/check,the check API",
    "REPORTS_API,/v1/calls/x/settle,the check API"
  })
  void missing_pathOfTheOtherApi_namesThatApi(Routes api, String path, String other) {
    String problem = json(api.missing(path));

    assertTrue(problem.contains(path + " is a path of " + other), problem);
  }

  @ParameterizedTest
  @CsvSource({"CHECK_API,/v1/usages", "CHECK_API,/v1/check/x", "REPORTS_API,/", "REPORTS_API,/v1"})
  void missing_unknownPath_namesThePath(Routes api, String path) {
    String problem = json(api.missing(path));

    assertTrue(problem.contains("\"" + path + "\""), problem);
  }

  private static String json(Problem problem) {
    return new String(problem.toJson(), StandardCharsets.UTF_8);
  }
}
