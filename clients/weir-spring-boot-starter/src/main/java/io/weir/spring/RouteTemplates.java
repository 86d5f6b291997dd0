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
 * The endpoints that calls are counted under, so that there are no more of them than templates and
 * methods, whatever paths callers invent. Immutable.
 *
 * <p>No way of writing a request leads past its template: paths are compared in the form in which
 * containers match them ({@link PathForm}), and if they fit no template so, as Spring reads them,
 * which resolves no dot segments. A {@code HEAD} is served by what serves {@code GET}, so it has
 * the endpoint of {@code GET} unless a template names {@code HEAD}.
 */
final class RouteTemplates {
  private static final String OTHER = "other";
  private static final String ANY = "*";
  private static final String GET = "GET";
  private static final String HEAD = "HEAD";
  private static final List<String> METHODS =
      List.of(GET, HEAD, "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT");

  private final List<Template> templates = new ArrayList<>();

  /** A template: its method, its path as it is shown, and what paths are compared with. */
  private record Template(String method, String shown, PathPattern path) {
    boolean isOf(String asked) {
      return method.equals(ANY)
          || method.equals(asked)
          || (method.equals(GET) && asked.equals(HEAD));
    }
  }

  /**
   * Reads templates.
   *
   * @param routes each a method, or {@code *} for any, a space, and a path as Spring has patterns
   * @throws IllegalArgumentException if one of them is not so; it names the route
   */
  RouteTemplates(List<String> routes) {
    for (String route : routes) {
      String[] words = route.strip().split("\\s+", -1);
      if (words.length != 2 || !words[1].startsWith("/")) {
        throw new InvalidPropertyException(
            "weir.filter.routes must have lines like 'GET /v1/items/{id}', not '" + route + "'");
      }
      templates.add(
          new Template(
              words[0].toUpperCase(Locale.ROOT),
              words[1],
              PathPatternParser.defaultInstance.parse(withoutSlashAtTheEnd(words[1]))));
    }
    // the most specific path first, HEAD before GET, which stands for it too, and any method last
    templates.sort(
        Comparator.comparing(Template::path, PathPattern.SPECIFICITY_COMPARATOR)
            .thenComparing(template -> template.method().equals(ANY))
            .thenComparing(template -> !template.method().equals(HEAD)));
  }

  /**
   * Returns the endpoint of a request: a method, and the template or {@code other}.
   *
   * @param path its path within the application, percent-encoded as the request has it
   */
  String endpoint(String method, String path) {
    return endpoint(method, "", path);
  }

  /**
   * Returns the endpoint of a request to an application.
   *
   * @param contextPath the application's path, empty if it is the root
   * @param address the path of the whole request, percent-encoded as the request has it
   */
  String endpoint(String method, String contextPath, String address) {
    String upper = method.toUpperCase(Locale.ROOT);
    Template template = matching(upper, PathForm.within(contextPath, address));
    if (template == null) {
      String path =
          address.startsWith(contextPath) ? address.substring(contextPath.length()) : address;
      template = matching(upper, withoutSlashAtTheEnd(PathForm.decodable(path)));
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
