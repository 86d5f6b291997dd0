// SPDX-License-Identifier: Apache-2.0
package io.weir.spring;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.springframework.http.server.PathContainer;
import org.springframework.web.util.pattern.PathPattern;
import org.springframework.web.util.pattern.PathPatternParser;

/**
 * Maps requests to endpoints by route templates. The number of endpoints is limited by the numbers
 * of templates and methods, not by the paths that callers send. Immutable.
 *
 * <p>A caller cannot avoid a template by another spelling of the path. This class first compares
 * the path in the form that servlet containers match ({@link RequestPath}). If no template matches,
 * this class compares the path in the form that Spring matches. In this form, dot segments are not
 * resolved. The handler of {@code GET} also serves {@code HEAD}. A {@code HEAD} request therefore
 * has the endpoint of {@code GET}, except if a template with the method {@code HEAD} matches.
 */
final class EndpointTemplates {
  private static final String OTHER = "other";
  private static final String ANY = "*";
  private static final String GET = "GET";
  private static final String HEAD = "HEAD";
  private static final List<String> METHODS =
      List.of(GET, HEAD, "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT");

  private final List<Template> templates = new ArrayList<>();

  /** A template: the method, the path as text, and the path as a pattern. */
  private record Template(String method, String shown, PathPattern path) {
    boolean isOf(String asked) {
      return method.equals(ANY)
          || method.equals(asked)
          || (method.equals(GET) && asked.equals(HEAD));
    }
  }

  /**
   * Parses templates.
   *
   * @param routes templates; each template consists of a method (or {@code *} for every method), a
   *     space, and a Spring path pattern
   * @throws IllegalArgumentException if a route is malformed; the message contains the route
   */
  EndpointTemplates(List<String> routes) {
    for (String route : routes) {
      String[] words = route.strip().split("\\s+", -1);
      if (words.length != 2 || !words[1].startsWith("/")) {
        throw new InvalidPropertyException(
            "weir.filter.routes must have lines such as 'GET /v1/items/{id}', but has '"
                + route
                + "'");
      }
      templates.add(
          new Template(
              words[0].toUpperCase(Locale.ROOT),
              words[1],
              PathPatternParser.defaultInstance.parse(withoutSlashAtTheEnd(words[1]))));
    }
    // the most specific path first; HEAD before GET, because GET also matches HEAD; the method *
    // last
    templates.sort(
        Comparator.comparing(Template::path, PathPattern.SPECIFICITY_COMPARATOR)
            .thenComparing(template -> template.method().equals(ANY))
            .thenComparing(template -> !template.method().equals(HEAD)));
  }

  /**
   * Returns the endpoint of a request: the method, a space, and the template's path or {@code
   * other}.
   *
   * @param path path within the application, in the percent-encoding of the request
   */
  String endpoint(String method, String path) {
    return endpoint(method, "", path);
  }

  /**
   * Returns the endpoint of a request to an application.
   *
   * @param contextPath context path of the application; empty for the root
   * @param address whole path of the request, in the percent-encoding of the request
   */
  String endpoint(String method, String contextPath, String address) {
    String upper = method.toUpperCase(Locale.ROOT);
    Template template = matching(upper, RequestPath.within(contextPath, address));
    if (template == null) {
      String path =
          address.startsWith(contextPath) ? address.substring(contextPath.length()) : address;
      template = matching(upper, withoutSlashAtTheEnd(RequestPath.decodable(path)));
    }
    String shown = METHODS.contains(upper) ? upper : "OTHER";
    if (upper.equals(HEAD) && (template == null || !template.method().equals(HEAD))) {
      shown = GET;
    }
    return shown + " " + (template == null ? OTHER : template.shown());
  }

  private @Nullable Template matching(String method, String path) {
    PathContainer container = PathContainer.parsePath(path);
    for (Template template : templates) {
      if (template.isOf(method) && template.path().matches(container)) {
        return template;
      }
    }
    return null;
  }

  private static String withoutSlashAtTheEnd(String path) {
    return path.length() > 1 && path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
  }
}
