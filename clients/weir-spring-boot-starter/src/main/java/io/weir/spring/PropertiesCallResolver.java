// SPDX-License-Identifier: Apache-2.0
package io.weir.spring;

import io.weir.client.Call;
import jakarta.servlet.http.HttpServletRequest;
import java.security.Principal;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A call resolver that uses the properties {@code weir.filter.*}. Thread-safe. */
final class PropertiesCallResolver implements WeirCallResolver {
  private static final Logger LOG = LoggerFactory.getLogger(PropertiesCallResolver.class);

  private final WeirProperties.Filter properties;
  private final EndpointTemplates routes;

  /**
   * Creates a resolver.
   *
   * @throws IllegalArgumentException if a route is not valid
   */
  PropertiesCallResolver(WeirProperties.Filter properties) {
    this.properties = properties;
    this.routes = new EndpointTemplates(properties.routes());
    if (properties.routes().isEmpty()) {
      LOG.warn(
          "weir_no_routes detail=\"weir.filter.routes is empty: every call has an endpoint such as"
              + " 'GET other', so policies for other endpoints match no call\"");
    }
  }

  /** Returns a sentence about what is missing in a request of an unknown caller. */
  String missing() {
    if (properties.apiKeyHeader() != null) {
      return "the field "
          + properties.apiKeyHeader()
          + " is missing or given twice (weir.filter.api-key-header)";
    }
    return properties.clientHeader() != null
        ? "the field "
            + properties.clientHeader()
            + " is missing or given twice (weir.filter.client-header)"
        : "there is no authenticated principal, and neither weir.filter.api-key-header nor"
            + " weir.filter.client-header is set";
  }

  @Override
  public @Nullable Call resolve(HttpServletRequest request) {
    Call call = caller(request);
    return call == null ? null : call.withEndpoint(endpoint(request));
  }

  private @Nullable Call caller(HttpServletRequest request) {
    String keyHeader = properties.apiKeyHeader();
    if (keyHeader != null) {
      String key = only(request, keyHeader);
      return key == null ? null : Call.ofApiKey(key);
    }
    String clientHeader = properties.clientHeader();
    if (clientHeader != null) {
      String client = only(request, clientHeader);
      return client == null ? null : Call.of(client);
    }
    Principal principal = request.getUserPrincipal();
    String name = principal == null ? null : principal.getName();
    return name == null || name.isEmpty() ? null : Call.of(name);
  }

  /**
   * Returns the value of a header field that occurs once; null if the field is missing or occurs
   * more than once. If the field occurs twice, no value can be trusted.
   */
  private static @Nullable String only(HttpServletRequest request, String header) {
    List<String> values = Collections.list(request.getHeaders(header));
    return values.size() == 1 && !values.get(0).isEmpty() ? values.get(0) : null;
  }

  private String endpoint(HttpServletRequest request) {
    return routes.endpoint(request.getMethod(), request.getContextPath(), request.getRequestURI());
  }
}
