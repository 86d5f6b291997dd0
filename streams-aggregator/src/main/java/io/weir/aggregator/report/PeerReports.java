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
import org.jspecify.annotations.Nullable;

/** Asks another aggregator for what it holds. Safe for threads. */
final class PeerReports {
  /** Marks a request that was passed on once, so that it is never passed on again. */
  static final String FORWARDED_HEADER = "Weir-Forwarded";

  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(2);

  /** Longer than a request may wait for a position. */
  private static final Duration TIMEOUT = Duration.ofSeconds(15);

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
    HttpRequest.Builder request =
        HttpRequest.newBuilder(
                URI.create("http://" + owner.host() + ":" + owner.port() + pathAndQuery))
            .timeout(TIMEOUT)
            .header("Accept", accept)
            .header(FORWARDED_HEADER, "1");
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

  /** What another aggregator says of the completeness of its partitions. */
  JsonNode completeness(UsageTable.Owner.Remote owner) throws IOException, InterruptedException {
    Answer answer = ask(owner, "/v1/completeness", Answer.JSON, null);
    if (answer.status() != 200) {
      throw new IOException("answered " + answer.status());
    }
    return MAPPER.readTree(answer.body()).path("partitions");
  }
}
