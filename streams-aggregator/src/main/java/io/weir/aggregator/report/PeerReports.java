// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.access.Tls;
import io.weir.topics.problem.ProblemReason;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import org.apache.kafka.streams.state.HostInfo;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A client of the reports APIs of other aggregators. Thread-safe. */
final class PeerReports {
  /** Header of a forwarded request. A request with this header is not forwarded again. */
  static final String FORWARDED_HEADER = "Weir-Forwarded";

  /** Problem reasons of 503 responses that only an aggregator with the partition sends. */
  private static final Set<String> REASONS_WITH_PARTITION =
      Set.of(ProblemReason.NOT_UP_TO_DATE.word(), ProblemReason.BUSY.word());

  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(2);

  /**
   * Timeout of a report that queries all other aggregators. If an aggregator responds later, the
   * report lists its partitions as missing.
   */
  private static final Duration ALL_TIMEOUT = Duration.ofSeconds(4);

  /** Status that usually means that the other aggregator does not have the partition. */
  private static final int UNAVAILABLE = 503;

  private static final Logger LOG = LoggerFactory.getLogger(PeerReports.class);
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final Duration connectTimeout;
  private final @Nullable Tls tls;
  private volatile Client client;

  /** An HTTP client and its TLS configuration. */
  private record Client(HttpClient http, @Nullable SSLContext tls) {}

  /**
   * Creates a client.
   *
   * @param tls trusted certificates and the certificate of this aggregator; null if the aggregators
   *     do not use TLS
   */
  PeerReports(@Nullable Tls tls) {
    this(CONNECT_TIMEOUT, tls);
  }

  PeerReports(Duration connectTimeout, @Nullable Tls tls) {
    this.connectTimeout = connectTimeout;
    this.tls = tls;
    this.client = open();
  }

  private Client open() {
    HttpClient.Builder builder =
        HttpClient.newBuilder().connectTimeout(connectTimeout).version(HttpClient.Version.HTTP_1_1);
    SSLContext context = tls == null ? null : tls.client();
    return new Client((context == null ? builder : builder.sslContext(context)).build(), context);
  }

  /** Returns the HTTP client. Creates a new client if certificates have changed. */
  private HttpClient http() {
    Client known = client;
    if (tls != null && tls.client() != known.tls()) {
      known = open();
      client = known;
    }
    return known.http();
  }

  /**
   * A request to be forwarded.
   *
   * @param pathAndQuery path and query of the request
   * @param headers the request headers on which the response depends
   * @param slowAfter time without a response after which the request is also sent to the next
   *     aggregator
   * @param timeout timeout of the complete response of one aggregator
   */
  record ForwardedRequest(
      String pathAndQuery, Map<String, String> headers, Duration slowAfter, Duration timeout) {
    ForwardedRequest {
      headers = Map.copyOf(headers);
    }
  }

  /**
   * Sends a request to one aggregator after another. If an aggregator is slow, the request is also
   * sent to the next aggregator, because the slow aggregator may be suspended. Incomplete responses
   * are ignored.
   *
   * @return the first complete response of an aggregator that has the partition, with any status;
   *     empty if there is none
   */
  Optional<Answer> requestInTurn(List<HostInfo> peers, ForwardedRequest forwarded)
      throws InterruptedException {
    BlockingQueue<Optional<Answer>> outcomes = new LinkedBlockingQueue<>();
    Iterator<HostInfo> next = peers.iterator();
    int pending = 0;
    while (next.hasNext() || pending > 0) {
      if (next.hasNext()) {
        request(next.next(), forwarded, outcomes);
        pending++;
      }
      Optional<Answer> outcome =
          next.hasNext()
              ? outcomes.poll(forwarded.slowAfter().toMillis(), TimeUnit.MILLISECONDS)
              : outcomes.take();
      if (outcome != null) {
        pending--;
        if (outcome.isPresent()) {
          return outcome;
        }
      }
    }
    return Optional.empty();
  }

  private void request(
      HostInfo peer, ForwardedRequest forwarded, Queue<Optional<Answer>> outcomes) {
    var unused =
        send(peer, forwarded)
            .thenApply(PeerReports::answer)
            .exceptionally(
                failed -> {
                  LOG.debug("another aggregator did not respond peer={}", address(peer), failed);
                  return Optional.empty();
                })
            .thenAccept(outcomes::add);
  }

  private static Optional<Answer> answer(HttpResponse<byte[]> response) {
    if (response.statusCode() == UNAVAILABLE && !isFromHolder(response.body())) {
      return Optional.empty();
    }
    return Optional.of(
        new Answer(
            response.statusCode(),
            response.headers().firstValue("Content-Type").orElse(Answer.JSON),
            response.body(),
            response.headers().firstValue(ReportServer.POSITION_HEADER).orElse(null),
            response.headers().firstValue(ReportServer.NEXT_PAGE_HEADER).orElse(null)));
  }

  private static boolean isFromHolder(byte[] problem) {
    try {
      JsonNode document = MAPPER.readTree(problem);
      return REASONS_WITH_PARTITION.contains(document.path("reason").asText());
    } catch (IOException noProblem) {
      return false; // a stopping server sends another body
    }
  }

  /**
   * Requests documents from several aggregators concurrently. Each document is about the partitions
   * of its aggregator.
   *
   * @param caller the caller of the report
   * @return the documents received within {@link #ALL_TIMEOUT}; failed requests are logged and
   *     omitted
   */
  List<JsonNode> requestAll(List<HostInfo> peers, String pathAndQuery, ReportCaller caller)
      throws InterruptedException {
    Map<String, String> headers = new HashMap<>();
    headers.put("Accept", Answer.JSON);
    if (caller.authorization() != null) {
      headers.put("Authorization", caller.authorization());
    }
    ForwardedRequest forwarded =
        new ForwardedRequest(pathAndQuery, headers, ALL_TIMEOUT, ALL_TIMEOUT);
    Map<HostInfo, CompletableFuture<JsonNode>> pending = new LinkedHashMap<>();
    for (HostInfo peer : peers) {
      pending.put(peer, send(peer, forwarded).thenApply(PeerReports::document));
    }
    List<JsonNode> answers = new ArrayList<>();
    for (var one : pending.entrySet()) {
      try {
        answers.add(one.getValue().get());
      } catch (ExecutionException failed) {
        LOG.warn(
            "another aggregator did not respond peer={} why={}",
            address(one.getKey()),
            failed.getCause());
      }
    }
    return answers;
  }

  private static JsonNode document(HttpResponse<byte[]> response) {
    try {
      if (response.statusCode() != 200) {
        throw new IOException("responded with status " + response.statusCode());
      }
      return MAPPER.readTree(response.body());
    } catch (IOException noDocument) {
      throw new CompletionException(noDocument);
    }
  }

  private CompletableFuture<HttpResponse<byte[]>> send(HostInfo peer, ForwardedRequest forwarded) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(
                URI.create(
                    (tls == null ? "http://" : "https://")
                        + address(peer)
                        + forwarded.pathAndQuery()))
            .timeout(forwarded.timeout())
            .header(FORWARDED_HEADER, "1");
    forwarded.headers().forEach(request::header);
    // the timeout of the request includes only the headers, and orTimeout also includes the body
    return http()
        .sendAsync(request.build(), HttpResponse.BodyHandlers.ofByteArray())
        .orTimeout(forwarded.timeout().toMillis(), TimeUnit.MILLISECONDS);
  }

  private static String address(HostInfo peer) {
    return peer.host() + ":" + peer.port();
  }
}
