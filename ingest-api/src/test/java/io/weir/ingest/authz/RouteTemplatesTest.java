// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.authz;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.Names;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class RouteTemplatesTest {
  private static final RouteTemplates ROUTES =
      RouteTemplates.parse(
          """
          # the shop
          GET  /
          GET  /v1/items
          GET  /v1/items/{id}
          GET  /v1/items/new
          *    /v1/items/{item}/parts

          PURGE /v1/cache
          GET  /static/*
          GET  /static/{file}/about
          POST /v1/caf\u00e9
          """);

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "GET   | /                    | GET /",
        "GET   | /v1/items            | GET /v1/items",
        "GET   | /v1/items/           | GET /v1/items",
        "get   | /v1/items?page=2     | GET /v1/items",
        "GET   | /v1/items/7          | GET /v1/items/{id}",
        "GET   | /v1/items/new        | GET /v1/items/new",
        "GET   | /v1/items/{id}       | GET /v1/items/{id}",
        "GET   | /v1/items/a%2Fb      | GET /v1/items/{id}",
        "GET   | /v1/items/%zz        | GET /v1/items/{id}",
        "GET   | /v1/items/7/parts    | GET /v1/items/{item}/parts",
        "PATCH | /v1/items/7/parts    | PATCH /v1/items/{item}/parts",
        "BREW  | /v1/items/7/parts    | OTHER /v1/items/{item}/parts",
        "purge | /v1/cache            | PURGE /v1/cache",
        "PURGE | /v1/items            | PURGE other",
        "POST  | /v1/items            | POST other",
        "GET   | /v1/items/7/8        | GET other",
        "GET   | /V1/items            | GET other",
        "GET   | /static/a/b/c        | GET /static/*",
        "GET   | /static/a/about      | GET /static/{file}/about",
        "GET   | /static/a/about/b    | GET /static/*",
        "GET   | /static              | GET other",
        "POST  | /v1/caf%C3%A9        | POST /v1/caf\u00e9",
        "POST  | /v1/caf\u00c3\u00a9  | POST /v1/caf\u00e9",
        "BREW  | /nowhere             | OTHER other",
        "''    | ''                   | OTHER other",
      })
  void endpoint_isTheTemplate_orTheMethodAlone(String method, String target, String endpoint) {
    assertEquals(endpoint, ROUTES.endpoint(method, target));
  }

  @Test
  void endpoint_withoutTemplates_isTheMethodAlone() {
    assertEquals("GET other", RouteTemplates.NONE.endpoint("GET", "/v1/items/7"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "GET                         | line 1: must be METHOD /path",
        "GET items                   | line 1: must be METHOD /path",
        "get /items                  | line 1: the method must be in upper case",
        "GET /items/                 | line 1: a segment must not be empty",
        "GET /a//b                   | line 1: a segment must not be empty",
        "GET /a/../b                 | line 1: a segment must not be empty",
        "GET /a/{b}c                 | line 1: a segment must be {name}, or text without",
        "GET /a/{}                   | line 1: a segment must be {name}, or text without",
        "GET /*/a                    | line 1: a segment must be {name}, or text without",
        "GET /a?b                    | line 1: a segment must be {name}, or text without",
        "GET /a;b                    | line 1: a segment must be {name}, or text without",
      })
  void parse_ofWhatIsNoTemplate_namesLineAndRule(String line, String message) {
    String told =
        assertThrows(
                RouteTemplates.InvalidTemplateException.class, () -> RouteTemplates.parse(line))
            .getMessage();

    assertTrue(String.valueOf(told).startsWith(message), told);
  }

  @Test
  void parse_ofARepetition_namesBothLines() {
    String told =
        assertThrows(
                RouteTemplates.InvalidTemplateException.class,
                () -> RouteTemplates.parse("GET /a/{b}\n\nGET /%61/{c}\n"))
            .getMessage();

    assertEquals(
        "line 3: the template matches the same paths as line 1; give each template once", told);
  }

  @Test
  void parse_ofALongName_isRefused() {
    String path = "/" + "x".repeat(Names.MAX_BYTES - 4);

    assertThrows(
        RouteTemplates.InvalidTemplateException.class, () -> RouteTemplates.parse("GET " + path));
    RouteTemplates fits = RouteTemplates.parse("GET " + path.substring(1).replaceFirst("x", "/"));
    assertEquals(1, fits.size());
  }

  @Test
  void endpoint_ofAnyBytes_isAmongTheTemplatesAndMethods() {
    Set<String> allowed = new HashSet<>();
    for (String method :
        List.of(
            "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "PURGE",
            "OTHER")) {
      allowed.add(method + " other");
      allowed.add(method + " /v1/items/{item}/parts");
    }
    allowed.addAll(
        List.of(
            "GET /",
            "GET /v1/items",
            "GET /v1/items/{id}",
            "GET /v1/items/new",
            "PURGE /v1/cache",
            "GET /static/*",
            "GET /static/{file}/about",
            "POST /v1/caf\u00e9"));
    for (long seed = 1; seed <= 50_000; seed++) {
      Random random = new Random(seed);
      String method = random.nextInt(3) == 0 ? RandomBytes.text(random, 12) : "GET";
      String target = RandomBytes.target(random);

      String endpoint = ROUTES.endpoint(method, target);

      assertTrue(allowed.contains(endpoint), "seed " + seed + ": " + endpoint);
    }
  }

  /** A slow, obvious reading: dots in the path, however they are written, never lead elsewhere. */
  @Test
  void endpoint_ofAPathWrittenInAnotherWay_isTheSame() {
    for (long seed = 1; seed <= 20_000; seed++) {
      Random random = new Random(seed);
      String plain = List.of("/v1/items", "/v1/items/new", "/static/a/b").get(random.nextInt(3));

      String written = RandomBytes.rewritten(random, plain);

      assertEquals(
          ROUTES.endpoint("GET", plain), ROUTES.endpoint("GeT", written), "seed " + seed + written);
    }
  }
}
