// SPDX-License-Identifier: Apache-2.0
package io.weir.spring;

import io.weir.client.FailureMode;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The properties {@code weir.*}. Immutable.
 *
 * @param enabled whether the auto-configuration of Weir is on
 * @param nodes base URLs of the nodes, such as {@code http://weir-1:8080}; at least one
 * @param failureMode the decision if no node decides before the deadline; required
 * @param token the bearer token; null for requests without a token
 * @param deadline maximum time until a node or the failure mode decides a call
 * @param tryTimeout timeout of one try; at most the deadline
 * @param maxTries maximum number of tries of one call
 * @param filter the servlet filter
 * @param gateway the rate limiter of Spring Cloud Gateway
 */
@ConfigurationProperties("weir")
public record WeirProperties(
    @DefaultValue("true") boolean enabled,
    @DefaultValue List<URI> nodes,
    @Nullable FailureMode failureMode,
    @Nullable String token,
    @DefaultValue("1s") Duration deadline,
    @DefaultValue("300ms") Duration tryTimeout,
    @DefaultValue("3") int maxTries,
    @DefaultValue Filter filter,
    @DefaultValue Gateway gateway) {
  public WeirProperties {
    nodes = List.copyOf(nodes);
  }

  /**
   * The properties {@code weir.filter.*}.
   *
   * @param enabled whether a servlet application gets the filter
   * @param urlPatterns the paths that the filter checks, as servlet URL patterns
   * @param order the order of the filter; by default, the filter follows the filters of Spring
   *     Security
   * @param apiKeyHeader the header field in which callers send an API key of Weir; null if callers
   *     send no API key
   * @param clientHeader the header field in which a trusted proxy sends the client's name; null for
   *     no such field. If {@code apiKeyHeader} and {@code clientHeader} are null, the client is the
   *     name of the authenticated principal
   * @param routes the application's endpoints, such as {@code GET /v1/items/{id}}. A call that
   *     matches no route has an endpoint such as {@code GET other}
   */
  public record Filter(
      @DefaultValue("true") boolean enabled,
      @DefaultValue("/*") List<String> urlPatterns,
      @DefaultValue("0") int order,
      @Nullable String apiKeyHeader,
      @Nullable String clientHeader,
      @DefaultValue List<String> routes) {
    public Filter {
      if (apiKeyHeader != null && clientHeader != null) {
        throw new InvalidPropertyException(
            "only one of weir.filter.api-key-header and weir.filter.client-header must be set, but"
                + " both are");
      }
      urlPatterns = List.copyOf(urlPatterns);
      routes = List.copyOf(routes);
    }
  }

  /**
   * The properties {@code weir.gateway.*}.
   *
   * @param enabled whether a gateway gets the rate limiter
   * @param apiKeyHeader the header field in which callers send an API key of Weir; null if the
   *     {@code KeyResolver} of the gateway returns the client's name
   */
  public record Gateway(@DefaultValue("true") boolean enabled, @Nullable String apiKeyHeader) {}

  /** Returns the nodes and the failure mode. Omits the token, which is a secret. */
  @Override
  public String toString() {
    return "WeirProperties[nodes=" + nodes + ", failureMode=" + failureMode + "]";
  }
}
