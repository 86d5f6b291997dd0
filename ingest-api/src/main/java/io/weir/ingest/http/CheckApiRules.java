// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.weir.access.AccessHandler;
import io.weir.access.Scope;
import io.weir.access.openapi.ApiPages;
import io.weir.topics.problem.ProblemReason;
import java.util.List;
import org.eclipse.jetty.server.Request;
import org.jspecify.annotations.Nullable;

/**
 * The scopes that the routes of the check API require. Routes without an entry here require the
 * operator scope. Stateless and thread-safe.
 */
final class CheckApiRules implements AccessHandler.Rules {
  private static final List<String> OF_CALLS =
      List.of(
          "/v1/check",
          "/v1/slots/",
          "/v1/calls/",
          "/v1/authz/",
          RateLimitRoute.PATH,
          EventsRoute.PATH,
          EventsRoute.OPENMETER_PATH);

  @Override
  public @Nullable Scope scopeOf(Request request) {
    if (readsAnyPath(request)) {
      return Scope.CHECK;
    }
    String path = Request.getPathInContext(request);
    if (AdmissionHandler.HEALTH.contains(path)
        || ApiPages.isOfPages(path)
        || path.startsWith(ProblemReason.PATH)) {
      return null;
    }
    if (OF_CALLS.stream().anyMatch(path::startsWith)) {
      return Scope.CHECK;
    }
    return AdmissionHandler.METRICS.equals(path) ? Scope.REPORT : Scope.ADMIN;
  }

  /**
   * Returns true for the routes of forward auth. Their paths contain the path of the gateway's
   * caller, and that path may have dot segments.
   */
  @Override
  public boolean readsAnyPath(Request request) {
    return AuthzDialect.of(request.getHttpURI().getPath()) != null;
  }

  /** Returns false: no route of this API accepts tokens that are bound to clients. */
  @Override
  public boolean looksAtClients(Request request) {
    return false;
  }
}
