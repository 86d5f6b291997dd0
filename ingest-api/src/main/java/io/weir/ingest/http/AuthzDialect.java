// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import java.util.List;
import java.util.Objects;
import org.eclipse.jetty.server.Request;
import org.jspecify.annotations.Nullable;

/**
 * A protocol of forward auth: how a kind of gateway describes a caller's request, and which
 * responses the gateway accepts.
 */
enum AuthzDialect {
  /** Any gateway that can set the fields {@code X-Weir-Method} and {@code X-Weir-Path}. */
  PLAIN("/v1/authz/plain", "X-Weir-Method", "X-Weir-Path"),

  /**
   * nginx' {@code auth_request}. nginx accepts only 2xx, 401 and 403, and closes the connection
   * after a response with a body.
   */
  NGINX("/v1/authz/nginx", "X-Original-Method", "X-Original-URI"),

  /** Traefik's {@code forwardAuth}, and Caddy's {@code forward_auth}. */
  TRAEFIK("/v1/authz/traefik", "X-Forwarded-Method", "X-Forwarded-Uri"),

  /** Envoy's {@code ext_authz} over HTTP, which sends the method and the path unchanged. */
  ENVOY("/v1/authz/envoy", "", "");

  private static final String PREFIX = "/v1/authz/";
  private static final AuthzDialect[] ALL = values();

  private final String path;
  private final String methodField;
  private final String targetField;

  AuthzDialect(String path, String methodField, String targetField) {
    this.path = path;
    this.methodField = methodField;
    this.targetField = targetField;
  }

  /** Returns the dialect of a path; null if the path belongs to no dialect. */
  static @Nullable AuthzDialect of(String path) {
    if (path.startsWith(PREFIX)) {
      for (AuthzDialect each : ALL) {
        if (path.equals(each.path) || (each == ENVOY && path.startsWith(each.path + '/'))) {
          return each;
        }
      }
    }
    return null;
  }

  /** Returns the path of the route. Envoy appends the caller's path to this path. */
  String path() {
    return path;
  }

  /**
   * Returns whether the path belongs to a kind of gateway that does not read bodies of responses.
   */
  static boolean readsNoBodies(String path) {
    AuthzDialect dialect = of(path);
    return dialect != null && dialect.knowsForbiddenOnly();
  }

  /** Returns whether the gateway treats responses other than 2xx, 401 and 403 as errors. */
  boolean knowsForbiddenOnly() {
    return this == NGINX;
  }

  /** Returns the method of the caller's request. */
  String method(Request request) throws JsonBody.Invalid {
    return this == ENVOY ? request.getMethod() : once(request, methodField);
  }

  /** Returns the path and the query of the caller's request. */
  String target(Request request) throws JsonBody.Invalid {
    return this == ENVOY
        ? request.getHttpURI().getPath().substring(path.length())
        : once(request, targetField);
  }

  private static String once(Request request, String name) throws JsonBody.Invalid {
    List<String> values = values(request, name);
    if (values.size() > 1) {
      throw JsonBody.Invalid.header(name, "must be given once");
    }
    if (values.isEmpty() || values.get(0).isEmpty()) {
      throw JsonBody.Invalid.header(name, "is missing; the gateway must send it");
    }
    return values.get(0);
  }

  /** Returns the values of all header fields of a name, in order. */
  static List<String> values(Request request, String name) {
    return request.getHeaders().getFields(name).stream()
        .map(field -> Objects.requireNonNullElse(field.getValue(), ""))
        .toList();
  }
}
