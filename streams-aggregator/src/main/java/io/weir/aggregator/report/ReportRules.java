// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.access.AccessHandler;
import io.weir.access.Scope;
import io.weir.access.openapi.ApiPages;
import io.weir.topics.problem.ProblemReason;
import java.util.List;
import java.util.Set;
import org.eclipse.jetty.server.Request;
import org.jspecify.annotations.Nullable;

/**
 * The rules that determine the token scope of each route of the reports API. Stateless and
 * thread-safe.
 */
final class ReportRules implements AccessHandler.Rules {
  private static final Set<String> OF_EVERYBODY = Set.of("/", "/health/live", "/health/ready");

  private static final List<String> OF_REPORTS =
      List.of(
          "/v1/usage",
          "/v1/clients",
          "/v1/endpoints",
          "/v1/completeness",
          "/v1/accuracy",
          AccuracyReports.INTERNAL_PATH,
          RankingReports.INTERNAL_PATH,
          "/metrics");

  private static final String USAGE = "/v1/usage";

  @Override
  public @Nullable Scope scopeOf(Request request) {
    String path = Request.getPathInContext(request);
    if (OF_EVERYBODY.contains(path)
        || ApiPages.isOfPages(path)
        || path.startsWith(ProblemReason.PATH)) {
      return null;
    }
    return OF_REPORTS.stream().anyMatch(path::startsWith) ? Scope.REPORT : Scope.ADMIN;
  }

  /**
   * Returns true for the routes of {@link ClientRoutes}. These routes check whether the token gives
   * access to the client.
   */
  @Override
  public boolean looksAtClients(Request request) {
    String path = Request.getPathInContext(request);
    return path.equals(USAGE) || path.startsWith(USAGE + "/");
  }
}
