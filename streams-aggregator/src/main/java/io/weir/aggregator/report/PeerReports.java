// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Asks another aggregator for what it holds. Safe for threads. */
final class PeerReports {
  /** Marks a request that was passed on once, so that it is never passed on again. */
  static final String FORWARDED_HEADER = "Weir-Forwarded";

  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(2);

  /** Longer than a request may wait for a position. */
  private static final Duration TIMEOUT = Duration.ofSeconds(15);

  /** Longest wait for the others when a report needs them all; who is late is named missing. */
  private static final Duration ALL_TIMEOUT = Duration.ofSeconds(3);

  private static final Logger LOG = LoggerFactory.getLogger(PeerReports.class);
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final HttpClient http = HttpClient.newBuilder().connectTimeout(CONNECT_TIMEOUT).build();

  /**
   * Passes a request on.
   *
   * @return the other one's answer, whatever it is
   * @throws IOException when it gave none
   */
  Answer ask(
      UsageTable.Owner.Remote owner, String pathAndQuery, String accept, @Nullable String positions)
      throws IOException, InterruptedException {
    HttpRequest.Builder request = request(owner, pathAndQuery, accept);
    if (positions != null) {
      request.header(ReportServer.POSITION_HEADER, positions);
    }
    HttpResponse<byte[]> response =
        http.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
    return new Answer(
        response.statusCode(),
        response.headers().firstValue("Content-Type").orElse(Answer.JSON),
        response.body(),
        response.headers().firstValue(ReportServer.POSITION_HEADER).orElse(null),
        response.headers().firstValue(ReportServer.NEXT_PAGE_HEADER).orElse(null));
  }

  /**
   * Asks several at once for a document about their own partitions.
   *
   * @return what came within {@link #ALL_TIMEOUT}; the others are left out and logged
   */
  Map<UsageTable.Owner.Remote, JsonNode> askAll(
      Set<UsageTable.Owner.Remote> owners, String pathAndQuery) throws InterruptedException {
    Map<UsageTable.Owner.Remote, CompletableFuture<JsonNode>> asked = new LinkedHashMap<>();
    for (UsageTable.Owner.Remote owner : owners) {
      HttpRequest request = request(owner, pathAndQuery, Answer.JSON).build();
      asked.put(
          owner,
          http.sendAsync(request, HttpResponse.BodyHandlers.ofByteArray())
              .thenApply(PeerReports::document)
              .orTimeout(ALL_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS));
    }
    Map<UsageTable.Owner.Remote, JsonNode> answers = new LinkedHashMap<>();
    for (var one : asked.entrySet()) {
      UsageTable.Owner.Remote owner = one.getKey();
      try {
        answers.put(owner, one.getValue().get());
      } catch (ExecutionException failed) {
        LOG.warn("aggregator does not answer host={} port={}", owner.host(), owner.port(), failed);
      }
    }
    return answers;
  }

  private static JsonNode document(HttpResponse<byte[]> response) {
    try {
      if (response.statusCode() != 200) {
        throw new IOException("answered " + response.statusCode());
      }
      return MAPPER.readTree(response.body());
    } catch (IOException noDocument) {
      throw new CompletionException(noDocument);
    }
  }

  private static HttpRequest.Builder request(
      UsageTable.Owner.Remote owner, String pathAndQuery, String accept) {
    return HttpRequest.newBuilder(
            URI.create("http://" + owner.host() + ":" + owner.port() + pathAndQuery))
        .timeout(TIMEOUT)
        .header("Accept", accept)
        .header(FORWARDED_HEADER, "1");
  }
}
