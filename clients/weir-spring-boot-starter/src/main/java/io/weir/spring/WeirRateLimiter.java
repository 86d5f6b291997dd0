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
 * Decides requests of Spring Cloud Gateway by Weir, for its filter {@code RequestRateLimiter}. The
 * key that the gateway resolves is the client's name, or an API key; the endpoint is the route's
 * id, unless the route says another one. Thread-safe.
 */
public final class WeirRateLimiter extends AbstractRateLimiter<WeirRateLimiter.Route> {
  /** The name under which routes set this limiter's arguments. */
  public static final String CONFIGURATION_PROPERTY_NAME = "weir-rate-limiter";

  private final WeirClient client;
  private final boolean keysAreApiKeys;
  private final WeirStatistics statistics;

  /**
   * Creates a limiter.
   *
   * @param keysAreApiKeys whether the gateway's keys are API keys that Weir knows, and not names of
   *     clients
   * @param statistics counts the requests
   * @param configuration reads the routes' arguments
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

  /** What a route may say of its calls. Filled by the gateway at its start. */
  public static final class Route {
    private @Nullable String endpoint;
    private @Nullable String meter;
    private long cost = 1;

    /** Returns the endpoint of the route's calls; null means the route's id. */
    public @Nullable String getEndpoint() {
      return endpoint;
    }

    /** Sets the endpoint. */
    public void setEndpoint(@Nullable String value) {
      this.endpoint = value;
    }

    /** Returns what the route's calls are counted in; null means {@code calls}. */
    public @Nullable String getMeter() {
      return meter;
    }

    /** Sets what the route's calls are counted in. */
    public void setMeter(@Nullable String value) {
      this.meter = value;
    }

    /** Returns what each call of the route costs. */
    public long getCost() {
      return cost;
    }

    /** Sets what each call of the route costs, at least 1. */
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

  /** A request that Weir calls wrong is refused, since no limit holds it. */
  private Mono<Response> refused(WeirRequestException wrong) {
    statistics.add(wrong);
    return Mono.just(new Response(false, Map.of()));
  }
}
