// SPDX-License-Identifier: Apache-2.0
package io.weir.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;

/** Tests a Spring Cloud Gateway that uses a node and forwards to an application. */
final class WeirRateLimiterIT {
  @TempDir private static Path folder;
  private static NodeFixture node;
  private static ConfigurableApplicationContext application;

  @BeforeAll
  static void start() throws Exception {
    node = new NodeFixture(folder);
    application = ItemsApplication.start("weir.enabled=false");
  }

  @AfterAll
  static void stop() {
    application.close();
    node.close();
  }

  /** A gateway whose properties define the routes. */
  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Gateway {}

  private static ConfigurableApplicationContext gateway(String... more) {
    String routes = "spring.cloud.gateway.server.webflux.routes";
    String items = routes + "[0].";
    String exports = routes + "[1].";
    String address = "http://127.0.0.1:" + ItemsApplication.port(application);
    List<String> properties = new ArrayList<>(List.of(more));
    properties.addAll(
        List.of(
            "weir.gateway.api-key-header=X-API-Key",
            items + "id=route-of-items",
            items + "uri=" + address,
            items + "predicates[0]=Path=/v1/items/**",
            items + "filters[0].name=RequestRateLimiter",
            exports + "id=route-of-exports",
            exports + "uri=" + address,
            exports + "predicates[0]=Path=/v1/exports/**",
            exports + "filters[0].name=RequestRateLimiter",
            exports + "filters[0].args.weir-rate-limiter.endpoint=GET /v1/items/{id}",
            exports + "filters[0].args.weir-rate-limiter.cost=2"));
    return ItemsApplication.run(
        Gateway.class, WebApplicationType.REACTIVE, properties.toArray(String[]::new));
  }

  @Test
  void gateway_passesRequestsOn_untilTheLimit() throws Exception {
    try (ConfigurableApplicationContext gateway =
        gateway(
            node.property(),
            "weir.failure-mode=closed",
            "weir.deadline=3m",
            "weir.try-timeout=3m")) {
      int port = ItemsApplication.port(gateway);
      for (int i = 0; i < NodeFixture.ITEMS; i++) {
        HttpResponse<String> served = node.get(port, "/v1/items/" + i, NodeFixture.ACME);
        assertEquals(200, served.statusCode(), served::body);
        assertEquals("item " + i, served.body());
        assertTrue(served.headers().firstValue("RateLimit").isPresent());
      }
      HttpResponse<String> denied = node.get(port, "/v1/items/9", NodeFixture.ACME);
      assertEquals(429, denied.statusCode());
      assertTrue(denied.headers().firstValueAsLong("Retry-After").orElse(0) > 3_000);

      // a route may set its endpoint and its cost: it takes two of three tokens
      assertEquals(200, node.get(port, "/v1/exports/1", NodeFixture.INITECH).statusCode());
      assertEquals(429, node.get(port, "/v1/exports/2", NodeFixture.INITECH).statusCode());

      // keys that no client has, and no key
      assertEquals(429, node.get(port, "/v1/items/1", "weir_nobody").statusCode());
      assertEquals(403, node.get(port, "/v1/items/1", null).statusCode());
    }
  }

  @Test
  void routesOfThePage_areLimited() throws Exception {
    String address = "http://127.0.0.1:" + ItemsApplication.port(application);
    try (ConfigurableApplicationContext gateway =
        ItemsApplication.run(
            Gateway.class,
            WebApplicationType.REACTIVE,
            Documented.file(folder, 1, address),
            node.property(),
            "weir.failure-mode=closed",
            "weir.gateway.api-key-header=X-API-Key",
            "weir.deadline=3m",
            "weir.try-timeout=3m")) {
      int port = ItemsApplication.port(gateway);
      for (int i = 0; i < NodeFixture.ITEMS; i++) {
        assertEquals(200, node.get(port, "/v1/items/" + i, NodeFixture.GLOBEX).statusCode());
      }
      assertEquals(429, node.get(port, "/v1/items/9", NodeFixture.GLOBEX).statusCode());
    }
  }

  @Test
  void weirUnavailable_isDecidedByTheMode() throws Exception {
    String nobody = NodeFixture.nobody();
    try (ConfigurableApplicationContext open = gateway(nobody, "weir.failure-mode=open");
        ConfigurableApplicationContext closed = gateway(nobody, "weir.failure-mode=closed")) {
      assertEquals(
          200, node.get(ItemsApplication.port(open), "/v1/items/1", NodeFixture.ACME).statusCode());
      assertEquals(
          429,
          node.get(ItemsApplication.port(closed), "/v1/items/1", NodeFixture.ACME).statusCode());
    }
  }
}
