// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import io.weir.client.Decision.Cause;
import io.weir.client.Nodes.Node;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodySubscriber;
import java.net.http.HttpResponse.BodySubscribers;
import java.net.http.HttpResponse.ResponseInfo;
import java.nio.channels.UnresolvedAddressException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Sends requests to nodes over HTTP, and tracks which nodes are available. Thread-safe. */
final class Transport {
  /** The path of a check. */
  static final String CHECK = "/v1/check";

  /** The path of a batch of checks. */
  static final String BATCH = "/v1/check/batch";

  private final HttpClient http;
  private final Nodes nodes;
  private final @Nullable Supplier<String> token;
  private final ScheduledExecutorService timer;

  /**
   * An HTTP response.
   *
   * @param statusCode the HTTP status
   * @param headers the header fields
   * @param body the whole body
   */
  record Answer(int statusCode, HttpHeaders headers, String body) {}

  /**
   * Creates a transport.
   *
   * @param token supplier of the bearer token for each request; null for requests without a token
   * @param timer executor that runs the timeouts
   */
  Transport(
      HttpClient http,
      Nodes nodes,
      @Nullable Supplier<String> token,
      ScheduledExecutorService timer) {
    this.http = http;
    this.nodes = nodes;
    this.token = token;
    this.timer = timer;
  }

  /**
   * Posts a body to the next node in turn.
   *
   * @param route a path, such as {@code /v1/check}
   * @param headers additional header fields
   * @param timeout maximum time to wait for the whole response, greater than zero
   * @param reader function that reads the response
   * @return the outcome. The future completes exceptionally only in three cases: the token supplier
   *     fails, the request cannot be sent, or the reader throws an exception
   */
  <T> CompletableFuture<TryOutcome<T>> post(
      String route,
      Map<String, String> headers,
      byte[] body,
      Duration timeout,
      Function<Answer, TryOutcome<T>> reader) {
    Node node = nodes.next();
    CompletableFuture<TryOutcome<T>> outcome = new CompletableFuture<>();
    CompletableFuture<HttpResponse<Void>> sent;
    try {
      HttpRequest request = request(node.at(route), headers, body);
      sent = http.sendAsync(request, info -> reading(info, reader, node, outcome));
    } catch (Throwable notSent) {
      // also an Error of the token supplier: waiting callers must receive it
      return CompletableFuture.failedFuture(notSent);
    }
    // if a response was read, the outcome is already complete
    var unused =
        sent.whenComplete(
            (answer, thrown) -> {
              if (thrown != null) {
                complete(outcome, node, failed(node, cause(thrown)));
              }
            });
    return within(timeout, node, outcome, sent);
  }

  /**
   * Returns a subscriber that reads a response on the thread that receives the response. A
   * dependent stage of the request's future would run in the common pool of the JVM, where other
   * tasks of the program could delay the stage.
   */
  private <T> BodySubscriber<Void> reading(
      ResponseInfo info,
      Function<Answer, TryOutcome<T>> reader,
      Node node,
      CompletableFuture<TryOutcome<T>> outcome) {
    return BodySubscribers.mapping(
        BodySubscribers.ofString(StandardCharsets.UTF_8),
        body -> {
          try {
            Answer answer = new Answer(info.statusCode(), info.headers(), body);
            complete(outcome, node, reader.apply(answer));
          } catch (RuntimeException fault) {
            outcome.completeExceptionally(fault);
          }
          return null;
        });
  }

  private <T> CompletableFuture<TryOutcome<T>> within(
      Duration timeout,
      Node node,
      CompletableFuture<TryOutcome<T>> outcome,
      CompletableFuture<?> sent) {
    Future<?> end =
        timer.schedule(
            () -> {
              String detail = node.base() + " did not respond before the timeout";
              complete(outcome, node, new TryOutcome.Failed<>(Cause.TIMEOUT, detail));
              sent.cancel(true);
            },
            timeout.toNanos(),
            TimeUnit.NANOSECONDS);
    return outcome.whenComplete((value, thrown) -> end.cancel(false));
  }

  private <T> void complete(
      CompletableFuture<TryOutcome<T>> result, Node node, TryOutcome<T> outcome) {
    if (result.isDone()) {
      return;
    }
    // before the outcome completes, because dependent stages of the outcome may select the next
    // node
    if (outcome instanceof TryOutcome.Failed) {
      nodes.rest(node);
    } else {
      nodes.wake(node);
    }
    result.complete(outcome);
  }

  private HttpRequest request(URI uri, Map<String, String> headers, byte[] body) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(uri)
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

  private static <T> TryOutcome<T> failed(Node node, Throwable thrown) {
    boolean isConnect =
        thrown instanceof ConnectException
            || thrown instanceof HttpConnectTimeoutException
            || thrown instanceof UnresolvedAddressException;
    String what = isConnect ? " cannot be reached" : " ended the connection: " + thrown;
    return new TryOutcome.Failed<>(Cause.UNREACHABLE, node.base() + what);
  }
}
