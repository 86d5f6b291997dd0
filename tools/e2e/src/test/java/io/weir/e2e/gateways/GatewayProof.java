// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.gateways;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.servers.testing.CallerIssuer;
import io.weir.testing.Await;
import java.net.http.HttpResponse;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/** The tests that every gateway in front of the shop must pass. */
final class GatewayProof {
  private static final int CALLS = 150;

  /** Far below the number of calls. */
  private static final int MOST_CONNECTIONS = 60;

  /** HAProxy checks each of two nodes every 500 ms, on a connection of its own. */
  private static final int CHECKS_IN_A_SECOND = 4;

  private static final int MOST_ROUNDS = 4;

  private static final int CALLERS = 2;

  private GatewayProof() {}

  /** A client over its limit gets a true 429; the shop is not called. */
  static void limits(Gateway gateway, Shop shop) throws Exception {
    int before = shop.calls();
    for (int i = 1; i <= TwoNodes.ITEMS; i++) {
      HttpResponse<String> allowed = gateway.call("GET", "/v1/items/" + i, TwoNodes.LIMITED);
      assertEquals(200, allowed.statusCode(), () -> told(allowed, gateway));
      assertEquals(Shop.ANSWER, allowed.body());
      assertTrue(
          header(allowed, "RateLimit").startsWith("\"items\";r=" + (TwoNodes.ITEMS - i) + ";t="),
          () -> told(allowed, gateway));
      assertTrue(header(allowed, "RateLimit-Policy").startsWith("\"items\";q=5;w="));
      assertEquals("", header(allowed, "Retry-After"));
    }

    for (String path : List.of("/v1/items/9", "//v1/./items/%37;a=b?x=1", "/v1/items/x/../y/")) {
      HttpResponse<String> denied = gateway.call("GET", path, TwoNodes.LIMITED);
      assertEquals(429, denied.statusCode(), () -> path + " " + told(denied, gateway));
      assertTrue(Long.parseLong(header(denied, "Retry-After")) > 0, () -> told(denied, gateway));
      assertTrue(header(denied, "RateLimit").startsWith("\"items\";r=0;t="));
      assertTrue(header(denied, "RateLimit-Policy").startsWith("\"items\";q=5;w="));
      assertEquals("application/problem+json", header(denied, "Content-Type"));
      assertTrue(denied.body().contains("\"not-enough-tokens\""), denied.body());
    }
    assertEquals(TwoNodes.ITEMS, shop.calls() - before);
    assertEquals(200, gateway.call("POST", "/v1/carts/9", TwoNodes.LIMITED).statusCode());
    assertEquals(200, gateway.call("GET", "/v1/items/9", TwoNodes.UNLIMITED).statusCode());
  }

  /** A call without a known key gets 401. */
  static void knowsCallers(Gateway gateway, Shop shop) throws Exception {
    int before = shop.calls();
    for (String key : List.of("", "weir_unknown", "x".repeat(2_000))) {
      HttpResponse<String> unknown = gateway.call("GET", "/v1/items/1", key);
      assertEquals(401, unknown.statusCode(), () -> told(unknown, gateway));
      assertEquals("ApiKey", header(unknown, "WWW-Authenticate"));
    }
    String tooLong = "/v1/items/" + "x".repeat(5_000);
    assertEquals(414, gateway.call("GET", tooLong, TwoNodes.UNLIMITED).statusCode());
    assertEquals(before, shop.calls());
  }

  /** A client is limited whichever of its tokens it shows; without a good one it gets a 401. */
  static void limitsTheClientOfAClaim(Gateway gateway, Shop shop, CallerIssuer issuer)
      throws Exception {
    int before = shop.calls();
    for (int i = 1; i <= TwoNodes.ITEMS; i++) {
      HttpResponse<String> allowed =
          gateway.callWithToken("GET", "/v1/items/" + i, token(issuer, "acme", 600));
      assertEquals(200, allowed.statusCode(), () -> told(allowed, gateway));
    }
    HttpResponse<String> denied =
        gateway.callWithToken("GET", "/v1/items/9", token(issuer, "acme", 600));
    assertEquals(429, denied.statusCode(), () -> told(denied, gateway));
    assertTrue(Long.parseLong(header(denied, "Retry-After")) > 0, () -> told(denied, gateway));
    assertEquals(
        200,
        gateway.callWithToken("GET", "/v1/items/9", token(issuer, "globex", 600)).statusCode());
    assertEquals(TwoNodes.ITEMS + 1, shop.calls() - before);

    Map<String, String> challenges =
        Map.of(
            "",
            "Bearer realm=\"weir\"",
            "x".repeat(7_000),
            "Bearer realm=\"weir\"",
            token(issuer, "acme", -1),
            "the token has expired",
            token(issuer, "acme", 600) + "*",
            "the token is not a signed JWT",
            CallerIssuer.sign(
                CallerIssuer.key(issuer.key().getKeyID()), CallerIssuer.claims("acme")),
            "the token was not signed by its issuer");
    for (Map.Entry<String, String> each : challenges.entrySet()) {
      HttpResponse<String> refused = gateway.callWithToken("GET", "/v1/items/1", each.getKey());
      assertEquals(401, refused.statusCode(), () -> told(refused, gateway));
      assertTrue(
          header(refused, "WWW-Authenticate").contains(each.getValue()),
          () -> told(refused, gateway));
    }
    assertEquals(TwoNodes.ITEMS + 1, shop.calls() - before);
  }

  private static String token(CallerIssuer issuer, String client, long seconds) {
    return issuer.sign(
        CallerIssuer.claims("user-7")
            .claim("org", Map.of("id", client))
            .jwtID(UUID.randomUUID().toString())
            .expirationTime(Date.from(Instant.now().plusSeconds(seconds))));
  }

  /**
   * Connections to the nodes and to the shop are kept from call to call, denied ones, too. When one
   * ends, all requests that ever came on it are told, so a round in which one has ended by chance
   * says nothing, and another one is made. Those of a gateway's own health checks, the more of them
   * the longer the calls take, are not counted.
   */
  static void keepsConnections(Gateway gateway, TwoNodes nodes, Shop shop) throws Exception {
    long fewest = Long.MAX_VALUE;
    int ofShop = shop.connections();
    for (int round = 0; round < MOST_ROUNDS && fewest >= MOST_CONNECTIONS; round++) {
      long before = nodes.requestsOnEndedConnections();
      long begunNanos = System.nanoTime();
      callOften(gateway);
      long checks = CHECKS_IN_A_SECOND * (1 + (System.nanoTime() - begunNanos) / 1_000_000_000);
      // otherwise a gateway that keeps none could pass in a slow round
      checks = Math.min(checks, CALLS);
      fewest = Math.min(fewest, nodes.requestsOnEndedConnections() - before - checks);
    }

    String told = fewest + " of " + 2 * CALLS + " requests on connections that have ended";
    assertTrue(fewest < MOST_CONNECTIONS, told);
    int toShop = shop.connections() - ofShop;
    assertTrue(toShop < MOST_CONNECTIONS, () -> toShop + " connections to the shop");
  }

  private static void callOften(Gateway gateway) throws Exception {
    int denied = 0;
    for (int i = 0; i < CALLS; i++) {
      String path = "/v1/items/" + i;
      HttpResponse<String> answer = gateway.call("GET", path, TwoNodes.UNLIMITED);
      assertEquals(200, answer.statusCode(), () -> told(answer, gateway));
      denied += gateway.call("GET", path, TwoNodes.ALSO_LIMITED).statusCode() == 429 ? 1 : 0;
    }
    assertTrue(denied >= CALLS - TwoNodes.ITEMS, denied + " denied");
  }

  /** No call fails while one node after the other is stopped and started again. */
  static void survivesARollingRestart(Gateway gateway, TwoNodes nodes) throws Exception {
    AtomicBoolean over = new AtomicBoolean();
    AtomicInteger calls = new AtomicInteger();
    ExecutorService threads = Executors.newFixedThreadPool(CALLERS);
    try {
      List<Future<String>> callers = new ArrayList<>();
      for (int i = 0; i < CALLERS; i++) {
        callers.add(threads.submit(() -> callUntil(over, calls, gateway)));
      }
      Await.until("calls before the restart", () -> calls.get() > 50);
      nodes.restartInTurn();
      int sinceThen = calls.get();
      Await.until(
          () -> "calls after the restart, " + calls.get(),
          () -> calls.get() > sinceThen + 50 || callers.stream().anyMatch(Future::isDone));
      over.set(true);

      for (Future<String> caller : callers) {
        assertEquals("", caller.get());
      }
    } finally {
      over.set(true);
      threads.shutdownNow();
    }
  }

  /** Calls until it is over; returns what the first failed call was told, or an empty text. */
  private static String callUntil(AtomicBoolean over, AtomicInteger calls, Gateway gateway)
      throws Exception {
    while (!over.get()) {
      HttpResponse<String> answer = gateway.call("GET", "/v1/items/7", TwoNodes.UNLIMITED);
      if (answer.statusCode() != 200) {
        return told(answer, gateway);
      }
      calls.incrementAndGet();
    }
    return "";
  }

  /** While no node is there, calls are refused by one gateway and let through by the other. */
  static void isClosedOrOpenWithoutWeir(Gateway closed, Gateway open, TwoNodes nodes, Shop shop)
      throws Exception {
    assertEquals(200, open.call("GET", "/v1/items/7", TwoNodes.UNLIMITED).statusCode());
    assertEquals(401, open.call("GET", "/v1/items/7", "").statusCode());
    nodes.stopAll();
    try {
      int before = shop.calls();
      HttpResponse<String> refused = closed.call("GET", "/v1/items/7", TwoNodes.UNLIMITED);
      assertEquals(503, refused.statusCode(), () -> told(refused, closed));
      assertEquals("1", header(refused, "Retry-After"));
      assertEquals(before, shop.calls());

      HttpResponse<String> passed = open.call("GET", "/v1/items/7", TwoNodes.UNLIMITED);
      assertEquals(200, passed.statusCode(), () -> told(passed, open));
      assertEquals(Shop.ANSWER, passed.body());
      assertEquals(before + 1, shop.calls());
    } finally {
      nodes.startAll();
    }
    Await.until(
        "the gateway to find the nodes again",
        () -> closed.call("GET", "/v1/items/7", TwoNodes.UNLIMITED).statusCode() == 200);
  }

  /** A policy that fails closed is closed behind an open gateway, too; others pass. */
  static void policyFailsClosed(Gateway open, TwoNodes nodes) throws Exception {
    nodes.killRedis();
    try {
      HttpResponse<String> refused = open.call("POST", "/v1/carts/1", TwoNodes.UNLIMITED);
      assertEquals(503, refused.statusCode(), () -> told(refused, open));
      HttpResponse<String> passed = open.call("GET", "/v1/items/7", TwoNodes.UNLIMITED);
      assertEquals(200, passed.statusCode(), () -> told(passed, open));
    } finally {
      nodes.restartRedis();
    }
    Await.until(
        "Redis to decide again",
        () -> open.call("POST", "/v1/carts/1", TwoNodes.UNLIMITED).statusCode() == 200);
  }

  private static String header(HttpResponse<String> answer, String name) {
    return answer.headers().firstValue(name).orElse("");
  }

  private static String told(HttpResponse<String> answer, Gateway gateway) {
    return answer + " " + answer.headers().map() + " " + answer.body() + "\n" + gateway.errors();
  }
}
