// SPDX-License-Identifier: Apache-2.0
package io.weir.spring;

import io.weir.client.Call;
import io.weir.client.Decision;
import io.weir.client.WeirClient;
import io.weir.client.WeirRequestException;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.cloud.gateway.filter.ratelimit.AbstractRateLimiter;
import org.springframework.cloud.gateway.support.ConfigurationService;
import reactor.core.publisher.Mono;

/**
 * A rate limiter that checks requests with Weir, for the filter {@code RequestRateLimiter} of
 * Spring Cloud Gateway. The gateway's key is the client's name or an API key. By default, the
 * endpoint of a call is the id of the route. Thread-safe.
 */
public final class WeirRateLimiter extends AbstractRateLimiter<WeirRateLimiter.Route> {
  /** Prefix of the arguments that a route passes to this rate limiter. */
  public static final String CONFIGURATION_PROPERTY_NAME = "weir-rate-limiter";

  private final WeirClient client;
  private final boolean keysAreApiKeys;
  private final WeirStatistics statistics;

  /**
   * Creates a rate limiter.
   *
   * @param keysAreApiKeys whether the gateway's keys are API keys of Weir; false if they are names
   *     of clients
   * @param statistics counts the requests
   * @param configuration service that reads the arguments of routes
   */
  public WeirRateLimiter(
      WeirClient client,
      boolean keysAreApiKeys,
      WeirStatistics statistics,
      ConfigurationService configuration) {
    super(Route.class, CONFIGURATION_PROPERTY_NAME, configuration);
    this.client = client;
    this.keysAreApiKeys = keysAreApiKeys;
    this.statistics = statistics;
  }

  /** The arguments of a route. The gateway sets the arguments at its start. */
  public static final class Route {
    private @Nullable String endpoint;
    private @Nullable String meter;
    private long cost = 1;

    /** Returns the endpoint of the route's calls; null for the id of the route. */
    public @Nullable String getEndpoint() {
      return endpoint;
    }

    /** Sets the endpoint of the route's calls. */
    public void setEndpoint(@Nullable String value) {
      this.endpoint = value;
    }

    /** Returns the meter of the route's calls; null for the meter {@code calls}. */
    public @Nullable String getMeter() {
      return meter;
    }

    /** Sets the meter of the route's calls. */
    public void setMeter(@Nullable String value) {
      this.meter = value;
    }

    /** Returns the cost of each call of the route. */
    public long getCost() {
      return cost;
    }

    /** Sets the cost of each call of the route, at least 1. */
    public void setCost(long value) {
      this.cost = value;
    }
  }

  @Override
  public Mono<Response> isAllowed(String routeId, String id) {
    return Mono.defer(() -> Mono.fromFuture(client.checkAsync(call(routeId, id))))
        .doOnNext(statistics::add)
        .map(WeirRateLimiter::response)
        .onErrorResume(WeirRequestException.class, this::refused);
  }

  private Call call(String routeId, String key) {
    Route route = getConfig().getOrDefault(routeId, new Route());
    String endpoint = route.getEndpoint();
    Call call =
        (keysAreApiKeys ? Call.ofApiKey(key) : Call.of(key))
            .withEndpoint(endpoint == null ? routeId : endpoint)
            .withCost(route.getCost());
    String meter = route.getMeter();
    return meter == null ? call : call.withMeter(meter);
  }

  private static Response response(Decision decision) {
    if (decision instanceof Decision.Allowed allowed) {
      return new Response(true, allowed.verdict().fields());
    }
    if (decision instanceof Decision.Denied denied) {
      return new Response(false, denied.verdict().fields());
    }
    return new Response(decision.isAllowed(), Map.of());
  }

  /**
   * Refuses a request if a node has refused the request's check as wrong. Otherwise the request
   * would pass without a limit.
   */
  private Mono<Response> refused(WeirRequestException wrong) {
    statistics.add(wrong);
    return Mono.just(new Response(false, Map.of()));
  }
}
