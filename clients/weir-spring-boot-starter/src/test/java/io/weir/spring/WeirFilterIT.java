// SPDX-License-Identifier: Apache-2.0
package io.weir.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpServer;
import io.weir.client.Call;
import io.weir.testing.Await;
import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.Principal;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.boot.web.servlet.ServletRegistrationBean;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

/** Tests an application in a servlet container with the filter and a node. */
final class WeirFilterIT {
  /** Long timeouts, because these tests do not depend on the speed of responses. */
  private static final String[] PATIENT = {"weir.deadline=3m", "weir.try-timeout=3m"};

  @TempDir private static Path folder;
  private static NodeFixture node;
  private static ConfigurableApplicationContext application;

  @BeforeAll
  static void start() throws Exception {
    node = new NodeFixture(folder);
    application =
        ItemsApplication.start(
            node.property(),
            "weir.failure-mode=closed",
            "weir.filter.api-key-header=X-API-Key",
            "weir.filter.routes=GET /v1/items/{id}, GET /v1/exports/{id}, GET /v1/jobs/{id}",
            PATIENT[0],
            PATIENT[1]);
  }

  @AfterAll
  static void stop() {
    application.close();
    node.close();
  }

  private static HttpResponse<String> get(String path, @Nullable String key) throws Exception {
    return node.get(ItemsApplication.port(application), path, key);
  }

  @Test
  void requests_passUntilTheLimit_andAreThenAnsweredWithATrue429() throws Exception {
    for (int i = 0; i < NodeFixture.ITEMS; i++) {
      HttpResponse<String> served = get("/v1/items/" + i, NodeFixture.ACME);
      assertEquals(200, served.statusCode());
      assertEquals("item " + i, served.body());
      String left = served.headers().firstValue("RateLimit").orElse("");
      assertTrue(left.startsWith("\"items\";r=" + (NodeFixture.ITEMS - 1 - i)), left);
    }

    HttpResponse<String> denied = get("/v1/items/9", NodeFixture.ACME);
    assertEquals(429, denied.statusCode());
    assertTrue(denied.headers().firstValueAsLong("Retry-After").orElse(0) > 3_000);
    assertTrue(denied.headers().firstValue("RateLimit-Policy").isPresent());
    assertEquals(
        "application/problem+json", denied.headers().firstValue("Content-Type").orElse(""));
    JsonNode problem = new ObjectMapper().readTree(denied.body());
    assertEquals("not-enough-tokens", problem.path("reason").asText());
    assertEquals("items", problem.path("violated-policies").path(0).asText());
    // a path that matches no template is another endpoint, which is not limited here
    assertEquals(404, get("/v1/items/9/more", NodeFixture.ACME).statusCode());
    // another client has its own bucket
    assertEquals(200, get("/v1/items/9", NodeFixture.INITECH).statusCode());
  }

  /** An application with a plain servlet. The container matches the paths. */
  @Configuration(proxyBeanMethods = false)
  @Import(ItemsApplication.class)
  static class Plain {
    @Bean
    ServletRegistrationBean<HttpServlet> report() {
      return new ServletRegistrationBean<>(new Report(), "/report/all");
    }
  }

  /** A servlet that handles GET, and therefore also HEAD. */
  private static final class Report extends HttpServlet {
    private static final long serialVersionUID = 1L;

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response)
        throws IOException {
      response.getWriter().write("served");
    }
  }

  @Test
  void headAndOtherWaysToWriteAPath_areNoWayPastALimit() throws Exception {
    try (ConfigurableApplicationContext plain =
        ItemsApplication.run(
            Plain.class,
            WebApplicationType.SERVLET,
            node.property(),
            "weir.failure-mode=closed",
            "weir.filter.client-header=X-API-Key",
            "weir.filter.routes=GET /report/all",
            PATIENT[0],
            PATIENT[1])) {
      int port = ItemsApplication.port(plain);
      List<String> ways =
          List.of(
              "/report/all",
              "/report//all",
              "/report/./all",
              "/report/x/../all",
              "/x/../report/all",
              "//report/all");
      for (String way : ways) {
        for (String method : List.of("GET", "HEAD")) {
          String caller = "caller of " + method + way;
          for (int i = 0; i < NodeFixture.ITEMS; i++) {
            assertTrue(send(port, method, way, caller).startsWith("HTTP/1.1 200 "), caller);
          }
          String limited = send(port, method, way, caller);
          assertTrue(limited.startsWith("HTTP/1.1 429 "), () -> caller + ": " + limited);
        }
      }
    }
  }

  /** Sends a request whose path no client library changes. Returns the response. */
  private static String send(int port, String method, String path, String caller)
      throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      String request =
          method
              + " "
              + path
              + " HTTP/1.1\r\nHost: items\r\nConnection: close\r\nX-API-Key: "
              + caller
              + "\r\n\r\n";
      socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
    }
  }

  @Test
  void unknownCallers_areRefused() throws Exception {
    assertEquals(401, get("/v1/items/1", null).statusCode());
    assertEquals(401, get("/v1/items/1", "weir_nobody").statusCode());
    // longer than every valid key
    HttpResponse<String> wrong = get("/v1/items/1", "k".repeat(1_025));
    assertEquals(400, wrong.statusCode());
    assertEquals("api_key", new ObjectMapper().readTree(wrong.body()).path("field").asText());
  }

  @ParameterizedTest
  @ValueSource(strings = {"/v1/exports/1", "/v1/jobs/1"})
  void slotOfARequest_isFreeAgain_whenItIsAnswered(String path) throws Exception {
    for (int i = 0; i < 3; i++) {
      // the lease is longer than the test, so only a release frees the slot
      Await.until("a free slot", () -> get(path, NodeFixture.ACME).statusCode() == 200);
    }
  }

  /** An application that determines the cost of its calls. */
  @Configuration(proxyBeanMethods = false)
  @Import(ItemsApplication.class)
  static class Dear {
    @Bean
    WeirCallResolver calls() {
      return request -> {
        String client = request.getHeader("X-API-Key");
        return client == null
            ? null
            : Call.of(client).withEndpoint("route-of-items").withCost(NodeFixture.ITEMS);
      };
    }
  }

  @Test
  void resolverOfTheApplication_replacesTheProperties() throws Exception {
    try (ConfigurableApplicationContext dear =
        ItemsApplication.run(
            Dear.class,
            WebApplicationType.SERVLET,
            node.property(),
            "weir.failure-mode=closed",
            PATIENT[0],
            PATIENT[1])) {
      int port = ItemsApplication.port(dear);
      assertEquals(401, node.get(port, "/v1/items/1", null).statusCode());
      assertEquals(200, node.get(port, "/v1/items/1", "payer").statusCode());
      assertEquals(429, node.get(port, "/v1/items/1", "payer").statusCode());
    }
  }

  /** An application that authenticates its callers with a filter, as Spring Security does. */
  @Configuration(proxyBeanMethods = false)
  @Import(ItemsApplication.class)
  static class Authenticated {
    @Bean
    FilterRegistrationBean<Filter> authentication() {
      FilterRegistrationBean<Filter> filter =
          new FilterRegistrationBean<>(
              (request, response, chain) ->
                  chain.doFilter(new Named((HttpServletRequest) request), response));
      filter.setOrder(-100);
      return filter;
    }
  }

  /** A request of the user in a header field. */
  private static final class Named extends HttpServletRequestWrapper {
    Named(HttpServletRequest request) {
      super(request);
    }

    @Override
    public @Nullable Principal getUserPrincipal() {
      String name = getHeader("X-API-Key");
      return name == null ? null : () -> name;
    }
  }

  @Test
  void principal_isTheClient_whenNoFieldIsNamed() throws Exception {
    try (ConfigurableApplicationContext authenticated =
        ItemsApplication.run(
            Authenticated.class,
            WebApplicationType.SERVLET,
            node.property(),
            "weir.failure-mode=closed",
            "weir.filter.routes=GET /v1/items/{id}",
            PATIENT[0],
            PATIENT[1])) {
      int port = ItemsApplication.port(authenticated);
      assertEquals(401, node.get(port, "/v1/items/1", null).statusCode());
      for (int i = 0; i < NodeFixture.ITEMS; i++) {
        assertEquals(200, node.get(port, "/v1/items/1", "user-one").statusCode());
      }
      assertEquals(429, node.get(port, "/v1/items/1", "user-one").statusCode());
      assertEquals(200, node.get(port, "/v1/items/1", "user-two").statusCode());
    }
  }

  @Test
  void refusedToken_servesNoCaller_evenInModeOpen() throws Exception {
    HttpServer refusing =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    refusing.createContext(
        "/",
        exchange -> {
          byte[] body = "{\"reason\":\"token-refused\"}".getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(401, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    refusing.start();
    try (ConfigurableApplicationContext open =
        ItemsApplication.start(
            "weir.nodes=http://127.0.0.1:" + refusing.getAddress().getPort(),
            "weir.failure-mode=open",
            "weir.filter.client-header=X-API-Key",
            PATIENT[0],
            PATIENT[1])) {
      int port = ItemsApplication.port(open);
      assertEquals(503, node.get(port, "/v1/items/1", "acme").statusCode());
    } finally {
      refusing.stop(0);
    }
  }

  @Test
  void weirUnavailable_isDecidedByTheMode() throws Exception {
    String nobody = NodeFixture.nobody();
    try (ConfigurableApplicationContext open =
            ItemsApplication.start(
                nobody, "weir.failure-mode=open", "weir.filter.client-header=X-API-Key");
        ConfigurableApplicationContext closed =
            ItemsApplication.start(
                nobody, "weir.failure-mode=closed", "weir.filter.client-header=X-API-Key")) {
      HttpResponse<String> served = node.get(ItemsApplication.port(open), "/v1/items/1", "acme");
      assertEquals(200, served.statusCode());
      assertTrue(served.headers().firstValue("RateLimit").isEmpty());

      HttpResponse<String> refused = node.get(ItemsApplication.port(closed), "/v1/items/1", "acme");
      assertEquals(503, refused.statusCode());
      assertEquals("1", refused.headers().firstValue("Retry-After").orElse(""));
    }
  }

  @Test
  void pathsOutsideThePatterns_areNotChecked() throws Exception {
    try (ConfigurableApplicationContext partly =
        ItemsApplication.start(
            NodeFixture.nobody(),
            "weir.failure-mode=closed",
            "weir.filter.client-header=X-API-Key",
            "weir.filter.url-patterns=/v1/exports/*")) {
      int port = ItemsApplication.port(partly);
      assertEquals(200, node.get(port, "/v1/items/1", null).statusCode());
      assertEquals(401, node.get(port, "/v1/exports/1", null).statusCode());
      assertEquals(503, node.get(port, "/v1/exports/1", "acme").statusCode());
    }
  }
}
