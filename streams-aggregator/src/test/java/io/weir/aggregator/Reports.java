// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.access.openapi.ApiDescription;
import io.weir.servers.testing.DescribedAnswers;
import io.weir.testing.Await;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.Predicate;

/** A client of two aggregators that share the partitions of a broker. */
final class Reports implements AutoCloseable {
  static final ObjectMapper MAPPER = new ObjectMapper();

  /** Every answer that a test gets from here is held against the description of the API. */
  static final DescribedAnswers DESCRIBED =
      new DescribedAnswers(ApiDescription.ofReportsApi().json());

  private static final HttpClient HTTP = HttpClient.newHttpClient();

  /** The query, up to the client's name, of all that was ever called; not of today only. */
  static final String TOTAL = "/v1/usage?window=total&from=2026-01-01&client=";

  final Aggregator one;
  final Aggregator two;
  private final int partitions;

  /** Starts both and waits until each answers for every partition. */
  Reports(Broker broker, int partitions, Path folder) throws Exception {
    this.partitions = partitions;
    one = Aggregator.start(config(broker, folder, "one"));
    two = Aggregator.start(config(broker, folder, "two"));
    Await.until("both share the partitions", this::bothAnswerForAll);
  }

  private boolean bothAnswerForAll() throws Exception {
    for (Aggregator aggregator : both()) {
      for (int partition = 0; partition < partitions; partition++) {
        String client = Calls.clientOf("probe", partition, partitions);
        if (!aggregator.ready()
            || get(aggregator, "/v1/usage?client=" + client).statusCode() != 200) {
          return false;
        }
      }
    }
    return true;
  }

  List<Aggregator> both() {
    return List.of(one, two);
  }

  /** Sends a request without a body, once. */
  static HttpResponse<String> send(Aggregator aggregator, String method, String path)
      throws Exception {
    return DESCRIBED.check(
        HTTP.send(
            HttpRequest.newBuilder(
                    URI.create("http://127.0.0.1:" + aggregator.reportsPort() + path))
                .method(method, HttpRequest.BodyPublishers.noBody())
                .build(),
            HttpResponse.BodyHandlers.ofString()));
  }

  /** Sends a request once. */
  static HttpResponse<String> get(Aggregator aggregator, String path, String... headers)
      throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + aggregator.reportsPort() + path));
    if (headers.length > 0) {
      request.headers(headers);
    }
    return DESCRIBED.check(HTTP.send(request.build(), HttpResponse.BodyHandlers.ofString()));
  }

  /**
   * Asks until it answers: within the few seconds that it tries a busy machine may not find another
   * one, which is 503, or not come to a position, which is 504.
   */
  static HttpResponse<String> answer(Aggregator aggregator, String path, String... headers)
      throws Exception {
    return ask(
        "an answer to " + path,
        () -> get(aggregator, path, headers),
        response -> response.statusCode() != 503 && response.statusCode() != 504);
  }

  /** Repeats a request until the response is as expected, and returns it. */
  static <T> T ask(String what, Callable<T> question, Predicate<T> isAsWanted) throws Exception {
    List<T> last = new ArrayList<>();
    Await.until(
        () -> what + "; last response: " + last,
        () -> {
          last.clear();
          last.add(question.call());
          return isAsWanted.test(last.get(0));
        });
    return last.get(0);
  }

  /** Returns a figure of {@code /metrics}; 0 if it is absent. */
  static double metric(Aggregator aggregator, String name) throws Exception {
    return get(aggregator, "/metrics")
        .body()
        .lines()
        .filter(line -> line.startsWith(name + " "))
        .mapToDouble(line -> Double.parseDouble(line.substring(name.length() + 1)))
        .sum();
  }

  /** The document of a route that must answer 200, once it answers. */
  static JsonNode document(Aggregator aggregator, String path, String... headers) throws Exception {
    HttpResponse<String> response = answer(aggregator, path, headers);
    if (response.statusCode() != 200) {
      throw new AssertionError(path + ": " + response.statusCode() + " " + response.body());
    }
    return MAPPER.readTree(response.body());
  }

  /** A document about all partitions, once none of them is missing since another was too slow. */
  static JsonNode whole(Aggregator aggregator, String path) throws Exception {
    return ask(
        path + " about all",
        () -> document(aggregator, path),
        document -> document.path("missing_partitions").isEmpty());
  }

  private static AggregatorConfig config(Broker broker, Path folder, String instance) {
    return AggregatorConfig.of(
        Map.of(
            "WEIR_SINGLE_COPY",
            "allow",
            "WEIR_KAFKA",
            broker.bootstrapServers(),
            "WEIR_DATA",
            folder.resolve(instance).toString(),
            "WEIR_REPORTS_PORT",
            "0",
            "WEIR_WINDOW",
            "PT2S",
            "WEIR_GRACE",
            "PT1S",
            "WEIR_RANKED_WINDOWS",
            "400",
            "WEIR_INSTANCE",
            instance));
  }

  @Override
  public void close() {
    one.close();
    two.close();
  }
}
