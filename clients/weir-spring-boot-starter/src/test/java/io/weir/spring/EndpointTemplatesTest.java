// SPDX-License-Identifier: Apache-2.0
package io.weir.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

final class EndpointTemplatesTest {
  private final EndpointTemplates routes =
      new EndpointTemplates(
          List.of("GET /items/{id}", "GET /items/new", "* /carts/{id}/**", "POST /carts/{id}/**"));

  @Test
  void path_isShownAsItsTemplate() {
    assertEquals("GET /items/{id}", routes.endpoint("GET", "/items/7"));
    assertEquals("PUT /carts/{id}/**", routes.endpoint("PUT", "/carts/7/a/b"));
  }

  @Test
  void mostSpecificTemplate_isPreferred_andAMethodBeforeAnyMethod() {
    assertEquals("GET /items/new", routes.endpoint("GET", "/items/new"));
    assertEquals("POST /carts/{id}/**", routes.endpoint("POST", "/carts/7/a"));
  }

  @Test
  void parametersAndEncodedSlashes_areNoWayPastATemplate() {
    assertEquals("GET /items/{id}", routes.endpoint("get", "/items/7;a=b"));
    assertEquals("GET /items/{id}", routes.endpoint("GET", "/items/7%2F8"));
    assertEquals("GET /items/new", routes.endpoint("GET", "/items/%6Eew"));
  }

  @Test
  void head_isCountedAsGet_unlessATemplateNamesIt() {
    assertEquals("GET /items/{id}", routes.endpoint("HEAD", "/items/7"));
    assertEquals("GET /carts/{id}/**", routes.endpoint("head", "/carts/7/a"));
    assertEquals("GET other", routes.endpoint("HEAD", "/elsewhere"));

    EndpointTemplates both =
        new EndpointTemplates(List.of("GET /items/{id}", "HEAD /items/{id}", "GET /items/new"));
    assertEquals("HEAD /items/{id}", both.endpoint("HEAD", "/items/7"));
    assertEquals("GET /items/{id}", both.endpoint("GET", "/items/7"));
    assertEquals("GET /items/new", both.endpoint("HEAD", "/items/new"));
  }

  @Test
  void emptyAndDotSegments_areNoWayPastATemplate() {
    for (String path :
        List.of(
            "/items//new",
            "//items/new",
            "/items/./new",
            "/items/%2e/new",
            "/items/x/../new",
            "/items/x/%2E%2e;a=b/new",
            "/x/../items/new",
            "/../items/new",
            "/items;a/new/",
            "/items/%6Eew//")) {
      assertEquals("GET /items/new", routes.endpoint("GET", path), path);
    }
  }

  @Test
  void templateThatOnlyThePathAsWrittenFits_isTaken() {
    // Spring serves the item with this name, because it does not resolve dot segments
    assertEquals("GET /items/{id}", routes.endpoint("GET", "/items/.."));
  }

  @Test
  void percentSignThatEncodesNothing_isLiteral() {
    assertEquals("GET /items/{id}", routes.endpoint("GET", "/items/%zz"));
    assertEquals("GET /items/{id}", routes.endpoint("GET", "/items/%"));
    assertEquals("GET other", routes.endpoint("GET", "/%2/%"));
  }

  @Test
  void encodedText_isDecodedOnce() {
    assertEquals("GET /items/{id}", routes.endpoint("GET", "/items/%256Eew"));
    assertEquals("GET /items/{id}", routes.endpoint("GET", "/items/%252e%252e"));
  }

  @Test
  void slashAtTheEnd_makesNoOtherTemplate() {
    EndpointTemplates slash = new EndpointTemplates(List.of("GET /a/", "GET /"));
    assertEquals("GET /a/", slash.endpoint("GET", "/a/"));
    assertEquals("GET /a/", slash.endpoint("GET", "//a"));
    assertEquals("GET /", slash.endpoint("GET", "/"));
    assertEquals("GET /", slash.endpoint("GET", "/a/.."));
  }

  @Test
  void pathOfTheApplication_isLeftOut_whicheverWayItIsWritten() {
    for (String address :
        List.of("/shop/items/7", "//shop/items/7", "/x/../shop//items/7", "/sh%6Fp;a/items/7")) {
      assertEquals("GET /items/{id}", routes.endpoint("GET", "/shop", address), address);
    }
    // as a servlet container may report it
    assertEquals("GET /items/{id}", routes.endpoint("GET", "/x/../shop", "/x/../shop/items/7"));
    assertEquals("GET /items/{id}", routes.endpoint("GET", "/shop", "/shop/items/.."));
  }

  @Test
  void whatFitsNone_isOther() {
    assertEquals("GET other", routes.endpoint("GET", "/elsewhere"));
    assertEquals("POST other", routes.endpoint("POST", "/items/7"));
  }

  @Test
  void inventedMethods_areOne() {
    assertEquals("OTHER other", routes.endpoint("BREW", "/items/7"));
    assertEquals("OTHER /carts/{id}/**", routes.endpoint("BREW", "/carts/7/a"));
  }

  @Test
  void wrongLine_isRefusedByWhatItSays() {
    for (String wrong : List.of("/items", "GET items", "GET /a /b", "")) {
      String told =
          assertThrows(IllegalArgumentException.class, () -> new EndpointTemplates(List.of(wrong)))
              .toString();
      assertTrue(told.contains("weir.filter.routes"), told);
    }
  }
}
