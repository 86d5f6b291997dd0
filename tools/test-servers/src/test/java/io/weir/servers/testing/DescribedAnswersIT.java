// SPDX-License-Identifier: Apache-2.0
package io.weir.servers.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A check of answers that finds nothing would let every description pass. */
final class DescribedAnswersIT {
  private static final String DESCRIPTION =
      """
      {"paths": {
         "/things/{id}": {
           "get": {"responses": {
             "200": {
               "headers": {"ETag": {"schema": {"type": "string"}}},
               "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}},
             "204": {},
             "default": {"$ref": "#/components/responses/Problem"}}}}},
       "components": {
         "responses": {"Problem": {"content": {"application/problem+json": {"schema": {}}}}},
         "schemas": {"Thing": {
           "type": "object", "required": ["size"], "properties": {"size": {"type": "integer"}}}}}}
      """;

  private final DescribedAnswers described = new DescribedAnswers(DESCRIPTION);
  private final HttpClient client = HttpClient.newHttpClient();
  private HttpServer server;

  @BeforeEach
  void start() throws Exception {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.start();
  }

  @AfterEach
  void stop() {
    server.stop(0);
  }

  private HttpResponse<String> answer(
      String path, int status, String type, String body, String field) throws Exception {
    server.createContext(
        path,
        exchange -> {
          byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
          if (!type.isEmpty()) {
            exchange.getResponseHeaders().set("Content-Type", type);
          }
          exchange.getResponseHeaders().set(field, "1");
          exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
          exchange.getResponseBody().write(bytes);
          exchange.close();
        });
    URI uri = URI.create("http://localhost:" + server.getAddress().getPort() + path);
    return client.send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "/things/a | 200 | application/json; charset=utf-8 | {\"size\":1} | ETag",
        "/things/a | 204 | '' | '' | X-Other",
        "/things/a | 503 | application/problem+json | {} | Retry-After",
        "/nothing  | 404 | text/plain | x | X-Other"
      })
  void answer_asDescribed_isTaken(String path, int status, String type, String body, String field)
      throws Exception {
    described.check(answer(path, status, type, body, field));

    assertEquals(
        path.equals("/nothing") ? Set.of() : Set.of("GET /things/{id} " + status),
        described.seen());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "/things/a | 200 | application/json | {\"size\":\"1\"} | ETag | integer",
        "/things/a | 200 | application/json | {} | ETag | required",
        "/things/a | 200 | application/json | {\"size\":1,\"more\":2} | ETag | more",
        "/things/a | 200 | application/json | {\"size\":1 | ETag | not JSON",
        "/things/a | 200 | text/plain | {\"size\":1} | ETag | has an undescribed media type: text/plain",
        "/things/a | 200 | application/json | {\"size\":1} | RateLimit | RateLimit",
        "/things/a | 201 | application/json | {\"size\":1} | ETag | status",
        "/things/a | 204 | text/plain | '' | Usage-Position | Usage-Position",
        "/things/a | 404 | text/plain | x | ETag | ETag",
        "/things/a | 404 | text/plain | x | X-Other | has an undescribed media type: text/plain",
        "/nothing  | 200 | text/plain | x | X-Other | is not described"
      })
  void answer_otherwise_isAnError(
      String path, int status, String type, String body, String field, String told)
      throws Exception {
    HttpResponse<String> answer = answer(path, status, type, body, field);

    AssertionError error = assertThrows(AssertionError.class, () -> described.check(answer));

    assertTrue(
        error.toString().toLowerCase(Locale.ROOT).contains(told.toLowerCase(Locale.ROOT)),
        error::toString);
  }

  @Test
  void operations_areThoseOfTheDescription() {
    assertEquals(Set.of("GET /things/{id}"), described.operations());
  }
}
