// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import io.weir.client.Decision.Cause;
import io.weir.client.Nodes.Node;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.nio.channels.UnresolvedAddressException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Sends one request to one node, and says how the node fares. Thread-safe. */
final class Transport {
  /** The route of one check. */
  static final String CHECK = "/v1/check";

  /** The route of several checks. */
  static final String BATCH = "/v1/check/batch";

  private final HttpClient http;
  private final Nodes nodes;
  private final @Nullable Supplier<String> token;

  /**
   * Creates it.
   *
   * @param token gives the bearer token of each request; null means none
   */
  Transport(HttpClient http, Nodes nodes, @Nullable Supplier<String> token) {
    this.http = http;
    this.nodes = nodes;
    this.token = token;
  }

  /**
   * Posts a body to the next node in turn.
   *
   * @param route a path, such as {@code /v1/check}
   * @param headers further header fields
   * @param timeout how long to wait for the whole answer, above zero
   * @param reader reads the answer
   * @return the outcome; completed exceptionally only if the token cannot be had, or the answer not
   *     be read because of a fault of this client
   */
  <T> CompletableFuture<Outcome<T>> post(
      String route,
      Map<String, String> headers,
      byte[] body,
      Duration timeout,
      Function<HttpResponse<String>, Outcome<T>> reader) {
    Node node = nodes.next();
    HttpRequest request;
    try {
      request = request(node.at(route), headers, body, timeout);
    } catch (RuntimeException noToken) {
      return CompletableFuture.failedFuture(noToken);
    }
    CompletableFuture<HttpResponse<String>> sent =
        http.sendAsync(request, HttpResponse.BodyHandlers.ofString(StandardCharsets.UTF_8));
    return sent.copy()
        // the timeout of a request ends with the head of its answer, this one with its body
        .orTimeout(timeout.toNanos(), TimeUnit.NANOSECONDS)
        .handle(
            (answer, thrown) -> {
              Outcome<T> outcome =
                  thrown == null ? reader.apply(answer) : failed(node, cause(thrown));
              sent.cancel(true);
              tell(node, outcome);
              return outcome;
            });
  }

  private HttpRequest request(URI uri, Map<String, String> headers, byte[] body, Duration timeout) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(uri)
            .timeout(timeout)
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofByteArray(body));
    headers.forEach(request::header);
    if (token != null) {
      request.header("Authorization", "Bearer " + token.get());
    }
    return request.build();
  }

  private static Throwable cause(Throwable thrown) {
    return thrown instanceof CompletionException && thrown.getCause() != null
        ? thrown.getCause()
        : thrown;
  }

  private static <T> Outcome<T> failed(Node node, Throwable thrown) {
    boolean isConnect =
        thrown instanceof ConnectException
            || thrown instanceof HttpConnectTimeoutException
            || thrown instanceof UnresolvedAddressException;
    boolean isTimeout =
        thrown instanceof HttpTimeoutException || thrown instanceof TimeoutException;
    String what = isConnect ? " cannot be reached" : isTimeout ? " gave no answer in time" : "";
    String detail = node.base() + (what.isEmpty() ? " ended the connection: " + thrown : what);
    return new Outcome.Failed<>(
        isTimeout && !isConnect ? Cause.TIMEOUT : Cause.UNREACHABLE, detail);
  }

  private <T> void tell(Node node, Outcome<T> outcome) {
    if (outcome instanceof Outcome.Failed) {
      nodes.rest(node);
    } else {
      nodes.wake(node);
    }
  }
}
