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
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Asks other aggregators for what they hold. Safe for threads. */
final class PeerReports {
  /** Marks a request that was passed on once, so that it is never passed on again. */
  static final String FORWARDED_HEADER = "Weir-Forwarded";

  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(2);

  /** Longest wait for the others when a report needs them all; who is late is named missing. */
  private static final Duration ALL_TIMEOUT = Duration.ofSeconds(4);

  /** The other one does not hold it, or not yet. */
  private static final int UNAVAILABLE = 503;

  private static final Logger LOG = LoggerFactory.getLogger(PeerReports.class);
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final HttpClient http =
      HttpClient.newBuilder()
          .connectTimeout(CONNECT_TIMEOUT)
          .version(HttpClient.Version.HTTP_1_1)
          .build();

  /**
   * A request to be passed on.
   *
   * @param pathAndQuery as it came
   * @param headers those the answer depends on
   * @param patience longest wait for one aggregator's whole answer
   */
  record Question(String pathAndQuery, Map<String, String> headers, Duration patience) {
    Question {
      headers = Map.copyOf(headers);
    }
  }

  /**
   * Asks one after the other. An answer is taken as a whole: when its aggregator dies in the middle
   * of it the next one is asked.
   *
   * @return the first answer other than 503, whatever it is; empty when there is none
   */
  Optional<Answer> askInTurn(List<Peer> peers, Question question) throws InterruptedException {
    for (Peer peer : peers) {
      Optional<Answer> answer = ask(peer, question);
      if (answer.isPresent()) {
        return answer;
      }
    }
    return Optional.empty();
  }

  private Optional<Answer> ask(Peer peer, Question question) throws InterruptedException {
    try {
      HttpResponse<byte[]> response = send(peer, question).get();
      if (response.statusCode() == UNAVAILABLE) {
        return Optional.empty();
      }
      return Optional.of(
          new Answer(
              response.statusCode(),
              response.headers().firstValue("Content-Type").orElse(Answer.JSON),
              response.body(),
              response.headers().firstValue(ReportServer.POSITION_HEADER).orElse(null),
              response.headers().firstValue(ReportServer.NEXT_PAGE_HEADER).orElse(null)));
    } catch (ExecutionException failed) {
      LOG.debug("aggregator does not answer peer={}", peer, failed);
      return Optional.empty();
    }
  }

  /**
   * Asks several at once for a document about their own partitions.
   *
   * @return what came within {@link #ALL_TIMEOUT}; the others are left out and logged
   */
  List<JsonNode> askAll(List<Peer> peers, String pathAndQuery) throws InterruptedException {
    Question question = new Question(pathAndQuery, Map.of("Accept", Answer.JSON), ALL_TIMEOUT);
    Map<Peer, CompletableFuture<JsonNode>> asked = new LinkedHashMap<>();
    for (Peer peer : peers) {
      asked.put(peer, send(peer, question).thenApply(PeerReports::document));
    }
    List<JsonNode> answers = new ArrayList<>();
    for (var one : asked.entrySet()) {
      try {
        answers.add(one.getValue().get());
      } catch (ExecutionException failed) {
        LOG.warn("aggregator does not answer peer={} why={}", one.getKey(), failed.getCause());
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

  private CompletableFuture<HttpResponse<byte[]>> send(Peer peer, Question question) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("http://" + peer + question.pathAndQuery()))
            .timeout(question.patience())
            .header(FORWARDED_HEADER, "1");
    question.headers().forEach(request::header);
    // the request's own timeout ends with the headers, this one with the body
    return http.sendAsync(request.build(), HttpResponse.BodyHandlers.ofByteArray())
        .orTimeout(question.patience().toMillis(), TimeUnit.MILLISECONDS);
  }
}
