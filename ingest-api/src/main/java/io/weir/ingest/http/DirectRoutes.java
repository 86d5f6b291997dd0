// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.weir.access.caller.CallerTokens;
import io.weir.ingest.authz.CallIdentity;
import io.weir.ingest.authz.CallReader;
import io.weir.ingest.gate.CheckGate;
import io.weir.ingest.rls.RateLimits;
import io.weir.ingest.trace.Traces;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpHeaderValue;
import org.eclipse.jetty.http.HttpMethod;
import org.eclipse.jetty.server.Request;
import org.jspecify.annotations.Nullable;

/** The table of the routes that are served without the servlet. Thread-safe. */
final class DirectRoutes implements AutoCloseable {
  private static final String CHECK_WITH_SLASH = CheckRoute.PATH + "/";

  private final Traces traces;
  private final RateLimits rateLimits;
  private final @Nullable CallerTokens callerTokens;
  private final Map<String, Route> posts = new HashMap<>();

  /** The routes for batches of events, by path. Routes for single events have the same paths. */
  private final Map<String, Route> eventBatches = new HashMap<>();

  private final Map<AuthzDialect, Route> gateways = new EnumMap<>(AuthzDialect.class);
  private volatile boolean refusing;

  /** Creates the table. */
  DirectRoutes(CheckApi.Parts parts, HttpSettings settings, HttpStatistics statistics) {
    this.traces = parts.traces();
    CheckGate gate = parts.gate();
    UnknownMembers unknown = settings.unknownMembers();
    VerdictFields fields = new VerdictFields(settings.limitHeaders());
    this.rateLimits = new RateLimits(gate, settings.rateLimits(), fields::ofRateLimit);
    addTraced(CheckRoute.PATH, false, new CheckRoute(gate, unknown, fields)::handle);
    addTraced(BatchRoute.PATH, true, new BatchRoute(gate, unknown)::handle);
    addTraced(RateLimitRoute.PATH, false, new RateLimitRoute(rateLimits, unknown)::handle);
    SlotRoutes slots = new SlotRoutes(gate.slots(), unknown);
    posts.put(SlotRoutes.RENEW, new Route(null, false, slots::renew));
    posts.put(SlotRoutes.RELEASE, new Route(null, false, slots::release));
    EventsRoute events = new EventsRoute(gate.usage(), parts.events());
    posts.put(EventsRoute.PATH, new Route(null, false, events::one));
    eventBatches.put(EventsRoute.PATH, new Route(null, true, events::batch));
    posts.put(EventsRoute.OPENMETER_PATH, new Route(null, false, events::openMeterOne));
    eventBatches.put(EventsRoute.OPENMETER_PATH, new Route(null, true, events::openMeterBatch));
    CallReader reader = new CallReader(settings.authz());
    this.callerTokens =
        settings.authz().identity() instanceof CallIdentity.ClientToken byToken
            ? CallerTokens.open(byToken.tokens())
            : null;
    CallerCheck callers =
        callerTokens == null ? null : new CallerCheck(callerTokens, reader, statistics);
    for (AuthzDialect dialect : AuthzDialect.values()) {
      AuthzRoute route = new AuthzRoute(gate, reader, callers, fields, dialect);
      gateways.put(dialect, new Route(dialect.path(), false, route::handle));
    }
  }

  private void addTraced(String path, boolean isBatch, Handling handling) {
    posts.put(path, new Route(path, isBatch, handling));
  }

  /** Answers an exchange, immediately or later. */
  private interface Handling {
    void handle(Exchange exchange) throws JsonBody.Invalid;
  }

  /** A route that is served without the servlet. */
  final class Route {
    private final @Nullable String tracedPath;
    private final boolean isBatch;
    private final Handling handling;

    /**
     * Creates a route.
     *
     * @param tracedPath the route's path in traces; null if the route is not traced
     */
    private Route(@Nullable String tracedPath, boolean isBatch, Handling handling) {
      this.tracedPath = tracedPath;
      this.isBatch = isBatch;
      this.handling = handling;
    }

    /**
     * Returns whether the route serves batches. If true, {@link #serve} may block the calling
     * thread or occupy it for milliseconds.
     */
    boolean isBatch() {
      return isBatch;
    }

    /**
     * Answers the exchange, immediately or later. If the route throws an exception, answers with an
     * internal error.
     */
    void serve(Exchange exchange) {
      if (tracedPath != null && traces.isOn()) {
        Request request = exchange.request();
        exchange.trace(
            traces.beginHttp(
                name -> AuthzDialect.values(request, name),
                request.getMethod(),
                tracedPath,
                request.isSecure(),
                request.getHeadersNanoTime()));
      }
      if (refusing) {
        exchange.fields().put(HttpHeader.CONNECTION, HttpHeaderValue.CLOSE);
        exchange.refuse(ProblemWriter.STOPPING);
        return;
      }
      try {
        handling.handle(exchange);
      } catch (JsonBody.Invalid invalid) {
        exchange.refuse(invalid.problem());
      } catch (RuntimeException | Error failed) {
        exchange.fail(failed);
      }
    }
  }

  /** Returns the route of a request; null if the servlet serves the request. */
  @Nullable Route find(Request request) {
    String path = request.getHttpURI().getPath();
    AuthzDialect dialect = AuthzDialect.of(path);
    if (dialect != null) {
      return gateways.get(dialect);
    }
    if (!HttpMethod.POST.is(request.getMethod())) {
      return null;
    }
    if (path.equals(CHECK_WITH_SLASH)) {
      return posts.get(CheckRoute.PATH);
    }
    return EventsRoute.isBatch(request) ? eventBatches.get(path) : posts.get(path);
  }

  /** Returns the paths that accept only POST. */
  Set<String> posts() {
    return posts.keySet();
  }

  /** Returns the component that decides requests of Envoy's rate limit service. */
  RateLimits rateLimits() {
    return rateLimits;
  }

  /** Refuses new requests with 503 and closes their connections. */
  void refuse() {
    refusing = true;
  }

  /** Returns whether {@link #refuse} was called. */
  boolean isRefusing() {
    return refusing;
  }

  @Override
  public void close() {
    if (callerTokens != null) {
      callerTokens.close();
    }
  }
}
