// SPDX-License-Identifier: Apache-2.0
package io.weir.spring;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import org.springframework.http.server.PathContainer;
import org.springframework.web.util.pattern.PathPattern;
import org.springframework.web.util.pattern.PathPatternParser;

/**
 * The endpoints that calls are counted under, so that there are no more of them than templates and
 * methods, whatever paths callers invent. Paths are read as Spring reads them. Immutable.
 *
 * <p>A {@code HEAD} is served by what serves {@code GET}, so it has the endpoint of {@code GET}
 * unless a template names {@code HEAD}.
 */
final class RouteTemplates {
  private static final String OTHER = "other";
  private static final String ANY = "*";
  private static final String GET = "GET";
  private static final String HEAD = "HEAD";
  private static final List<String> METHODS =
      List.of(GET, HEAD, "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT");

  private final List<Template> templates = new ArrayList<>();

  private record Template(String method, PathPattern path) {
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
        throw new IllegalArgumentException(
            "weir.filter.routes must have lines like 'GET /v1/items/{id}', not '" + route + "'");
      }
      templates.add(
          new Template(
              words[0].toUpperCase(Locale.ROOT),
              PathPatternParser.defaultInstance.parse(words[1])));
    }
    // the most specific path first, HEAD before GET, which stands for it too, and any method last
    templates.sort(
        Comparator.comparing(Template::path, PathPattern.SPECIFICITY_COMPARATOR)
            .thenComparing(template -> template.method().equals(ANY))
            .thenComparing(template -> !template.method().equals(HEAD)));
  }

  /** Returns the endpoint of a request: a method, and the template or {@code other}. */
  String endpoint(String method, String rawPath) {
    String upper = method.toUpperCase(Locale.ROOT);
    String shown = METHODS.contains(upper) ? upper : "OTHER";
    PathContainer path = PathContainer.parsePath(rawPath);
    for (Template template : templates) {
      if (template.isOf(upper) && template.path().matches(path)) {
        boolean isGet = upper.equals(HEAD) && !template.method().equals(HEAD);
        return (isGet ? GET : shown) + " " + template.path().getPatternString();
      }
    }
    return (upper.equals(HEAD) ? GET : shown) + " " + OTHER;
  }
}
