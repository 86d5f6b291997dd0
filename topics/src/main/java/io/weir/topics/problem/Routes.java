// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.problem;

import java.util.regex.Pattern;

/**
 * The paths of the two APIs. If a client sends a request to the wrong API, the response states the
 * right API.
 */
public enum Routes {
  /** The API for checks, usage events, settlements and slot renewals. */
  CHECK_API(
      "the check API, on port WEIR_HTTP_PORT of an ingest node (8080)",
      "check|usage-events|authz|calls|slots|policies|plans|settings|switches|clients/.+"),

  /** The API for reports. */
  REPORTS_API(
      "the reports API, on port WEIR_REPORTS_PORT of an aggregator (8081)",
      "usage|clients|endpoints|completeness|accuracy");

  private final String place;
  private final Pattern paths;

  Routes(String place, String names) {
    this.place = place;
    this.paths = Pattern.compile("/v1/(?:" + names + ")(?:/.*)?");
  }

  /** Returns the problem for an unknown path of this API. */
  public Problem missing(String path) {
    for (Routes other : values()) {
      if (other != this && other.paths.matcher(path).matches()) {
        return Problem.of(ProblemReason.NO_SUCH_ROUTE, path + " is a path of " + other.place);
      }
    }
    return Problem.of(ProblemReason.NO_SUCH_ROUTE, path);
  }
}
