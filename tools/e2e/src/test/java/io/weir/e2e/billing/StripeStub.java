// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.billing;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Stripe's route for meter events, as its documentation describes it: what it asks of an event,
 * that it takes an identifier once, one call at a time of a customer and meter, and so many calls a
 * second. Besides it fails now and then: before it takes an event, and behind. Thread-safe.
 */
final class StripeStub implements AutoCloseable {
  static final String KEY = "rk_test_0123456789abcdef";

  private static final int MAX_PER_SECOND = 60;
  private static final int MAX_IDENTIFIER = 100;
  private static final int FAULTS_EVERY = 29;
  private static final String ACCEPTED = "{\"object\":\"billing.meter_event\"}";

  private final HttpServer server;
  private final ExecutorService threads = Executors.newFixedThreadPool(16);
  private final Set<String> events;

  private final Map<String, Map<String, String>> taken = new LinkedHashMap<>();
  private final Set<String> busy = new HashSet<>();
  private final Map<Integer, Integer> answers = new TreeMap<>();
  private long second;
  private int inSecond;
  private int calls;

  /**
   * Starts the server on a free port of the loopback address.
   *
   * @param events the event names of the meters that there are
   */
  StripeStub(Set<String> events) throws IOException {
    this.events = events;
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/v1/billing/meter_events", this::handle);
    server.setExecutor(threads);
    server.start();
  }

  String url() {
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  /** Returns the events that were taken, by identifier. */
  synchronized Map<String, Map<String, String>> taken() {
    return new LinkedHashMap<>(taken);
  }

  /** Returns how often each status was answered. */
  synchronized Map<Integer, Integer> answers() {
    return new TreeMap<>(answers);
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
      Map<String, String> event = form(body);
      String lane = event.get("payload[stripe_customer_id]") + " " + event.get("event_name");
      Answer answer = enter(exchange, event, lane);
      if (answer.status == 0) {
        return; // the connection ends without an answer
      }
      byte[] text = answer.body.getBytes(StandardCharsets.UTF_8);
      exchange.getResponseHeaders().add("Content-Type", "application/json");
      exchange.sendResponseHeaders(answer.status, text.length);
      exchange.getResponseBody().write(text);
    }
  }

  private record Answer(int status, String body) {
    static Answer error(int status, String code, String message) {
      return new Answer(
          status, "{\"error\":{\"code\":\"%s\",\"message\":\"%s\"}}".formatted(code, message));
    }
  }

  private Answer enter(HttpExchange exchange, Map<String, String> event, String lane) {
    synchronized (this) {
      if (!busy.add(lane)) {
        answers.merge(429, 1, Integer::sum);
        return Answer.error(429, "lock_timeout", "one call at a time of a customer and meter");
      }
    }
    Answer answer = decide(exchange, event);
    synchronized (this) {
      busy.remove(lane);
      answers.merge(answer.status, 1, Integer::sum);
    }
    return answer;
  }

  private synchronized Answer decide(HttpExchange exchange, Map<String, String> event) {
    if (!("Bearer " + KEY).equals(exchange.getRequestHeaders().getFirst("Authorization"))) {
      return Answer.error(401, "", "Invalid API Key provided: rk_***");
    }
    if (!exchange.getRequestMethod().equals("POST")
        || !"application/x-www-form-urlencoded"
            .equals(exchange.getRequestHeaders().getFirst("Content-Type"))) {
      return Answer.error(400, "", "not a form");
    }
    long now = System.currentTimeMillis() / 1_000;
    inSecond = now == second ? inSecond + 1 : 1;
    second = now;
    if (inSecond > MAX_PER_SECOND) {
      return Answer.error(429, "rate_limit", "too many calls");
    }
    int fault = calls++ % FAULTS_EVERY;
    if (fault == 3) {
      return Answer.error(500, "", "before");
    }
    if (fault == 9) {
      return Answer.error(429, "rate_limit", "of another caller of the account");
    }
    Answer answer = take(event);
    return switch (fault) {
      case 15 -> Answer.error(502, "", "behind");
      case 21 -> new Answer(0, "");
      default -> answer;
    };
  }

  private Answer take(Map<String, String> event) {
    String identifier = event.getOrDefault("identifier", "");
    if (identifier.isEmpty() || identifier.length() > MAX_IDENTIFIER) {
      return Answer.error(400, "", "identifier");
    }
    if (!events.contains(event.getOrDefault("event_name", ""))) {
      return Answer.error(400, "", "no meter has this event name");
    }
    if (!event.getOrDefault("payload[stripe_customer_id]", "").startsWith("cus_")) {
      return Answer.error(400, "", "no such customer");
    }
    if (!event.getOrDefault("payload[value]", "").matches("[0-9]+")) {
      return Answer.error(400, "", "value must be a whole number, not negative");
    }
    Instant time = Instant.ofEpochSecond(Long.parseLong(event.getOrDefault("timestamp", "0")));
    if (time.isBefore(Instant.now().minus(Duration.ofDays(35)))) {
      return Answer.error(400, "timestamp_too_far_in_past", "too old");
    }
    if (time.isAfter(Instant.now().plus(Duration.ofMinutes(5)))) {
      return Answer.error(400, "timestamp_in_future", "in the future");
    }
    if (taken.putIfAbsent(identifier, event) != null) {
      return Answer.error(
          400,
          taken.size() % 2 == 0 ? "duplicate_meter_event" : "",
          "An event already exists with identifier " + identifier);
    }
    return new Answer(200, ACCEPTED);
  }

  private static Map<String, String> form(String body) {
    Map<String, String> members = new HashMap<>();
    for (String member : body.split("&", -1)) {
      String[] sides = member.split("=", 2);
      members.put(
          URLDecoder.decode(sides[0], StandardCharsets.UTF_8),
          URLDecoder.decode(sides.length == 2 ? sides[1] : "", StandardCharsets.UTF_8));
    }
    return members;
  }

  @Override
  public void close() {
    server.stop(0);
    threads.shutdownNow();
  }
}
