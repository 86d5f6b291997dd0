// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.access.AccessHandler;
import io.weir.access.Scope;
import io.weir.topics.problem.ProblemReason;
import org.eclipse.jetty.server.Request;
import org.jspecify.annotations.Nullable;

/** The scopes of the reports API's routes. Stateless and thread-safe. */
final class ReportRules implements AccessHandler.Rules {
  private static final String USAGE = "/v1/usage";

  @Override
  public @Nullable Scope scopeOf(Request request) {
    // as the servlet reads it: decoded, without dot segments
    String path = Request.getPathInContext(request);
    if (path.equals("/") || path.startsWith("/health/") || path.startsWith(ProblemReason.PATH)) {
      return null;
    }
    return path.startsWith(PortalRoute.PATH) ? Scope.ADMIN : Scope.REPORT;
  }

  /** The routes of usage do, which {@link ClientRoutes} answers. */
  @Override
  public boolean looksAtClients(Request request) {
    String path = Request.getPathInContext(request);
    return path.equals(USAGE) || path.startsWith(USAGE + "/");
  }
}
