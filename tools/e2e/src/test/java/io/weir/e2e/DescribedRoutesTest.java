// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.access.openapi.ApiDescription;
import io.weir.servers.testing.DescribedAnswers;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The tables of routes in {@code docs/api} against the descriptions in OpenAPI. */
final class DescribedRoutesTest {
  private static final String ANY_METHOD = "any method: ";

  @Test
  void routesOfThePages_areThoseOfTheDescriptions() throws Exception {
    Set<String> described = new TreeSet<>();
    for (ApiDescription api : List.of(ApiDescription.ofCheckApi(), ApiDescription.ofReportsApi())) {
      described.addAll(new DescribedAnswers(api.json()).operations());
    }

    Set<String> documented = new TreeSet<>();
    for (String line : Markdown.textOf(Markdown.API).lines().toList()) {
      if (line.startsWith("| ") && line.contains("/")) {
        documented.addAll(routes(line.split("\\|", -1)[1].strip()));
      }
    }

    assertTrue(documented.size() > 20, documented::toString);
    assertEquals(described, documented);
  }

  /** Returns the routes of a cell such as {@code `GET`, `PUT /a/{b}`, `POST /c`}. */
  private static Set<String> routes(String cell) {
    boolean isAnyMethod = cell.startsWith(ANY_METHOD);
    Set<String> routes = new TreeSet<>();
    List<String> methods = new ArrayList<>();
    for (String each : cell.replace(ANY_METHOD, "").replace("`", "").split(", ", -1)) {
      String[] words = each.split("[ ?]", -1);
      boolean hasMethod = words[0].matches("GET|PUT|POST|DELETE");
      if (!hasMethod && !isAnyMethod) {
        return routes;
      }
      methods.add(isAnyMethod ? "GET" : words[0]);
      String path = isAnyMethod ? words[0] : words.length > 1 ? words[1] : "";
      if (path.startsWith("/")) {
        for (String method : methods) {
          routes.add(method + " " + path);
        }
        methods.clear();
      }
    }
    return routes;
  }
}
