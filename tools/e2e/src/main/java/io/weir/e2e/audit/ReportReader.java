// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.audit;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.e2e.audit.Callers.Round;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads reports from every aggregator in turn, during calls and faults. An aggregator may refuse to
 * return a report. A report is wrong if it shows more calls than were sent, or fewer calls than
 * earlier reports require ({@link ReportedUsage}).
 */
final class ReportReader implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ReportReader.class);
  private static final ObjectMapper JSON = new ObjectMapper();

  private static final long NANOS_BETWEEN_REPORTS = 50_000_000;

  private final String token;
  private final HttpClient http =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .connectTimeout(Duration.ofSeconds(1))
          .build();
  private final List<String> reportsUrls;
  private final Supplier<Round> round;
  private final Map<String, ReportedUsage> greatest = new HashMap<>();
  private final Thread thread = new Thread(this::readUntilStopped, "report-reader");
  private volatile boolean stopping;

  ReportReader(List<String> reportsUrls, String token, Supplier<Round> round) {
    this.token = token;
    this.reportsUrls = List.copyOf(reportsUrls);
    this.round = round;
    thread.setDaemon(true);
  }

  void start() {
    thread.start();
  }

  private void readUntilStopped() {
    for (long n = 0; !stopping; n++) {
      Round of = round.get();
      String url = reportsUrls.get((int) (n % reportsUrls.size()));
      try {
        read(of, of.client(n / reportsUrls.size()), url);
      } catch (IOException noReport) {
        LOG.debug("no report: {}", noReport.toString()); // the audit checks that reports resume
      } catch (InterruptedException interrupted) {
        return;
      }
      LockSupport.parkNanos(NANOS_BETWEEN_REPORTS);
    }
  }

  private void read(Round of, String client, String url) throws IOException, InterruptedException {
    HttpResponse<String> answer =
        http.send(
            Requests.to(url + "/v1/usage?window=total&from=2026-01-01&client=" + client, token)
                .timeout(Duration.ofSeconds(10))
                .build(),
            HttpResponse.BodyHandlers.ofString());
    if (answer.statusCode() == 200) {
      JsonNode report = JSON.readTree(answer.body());
      if (report.path("completeness").path("missing_partitions").isEmpty()) {
        of.truth().reported(wrong(of, client, url, report));
      }
    }
  }

  private @Nullable String wrong(Round of, String client, String url, JsonNode report) {
    long calls = 0;
    for (JsonNode row : report.path("data")) {
      calls += row.path("allowed").asLong() + row.path("denied").asLong();
    }
    long made =
        of.truth().tries(client); // read after the report, because the number only increases
    if (calls > made) {
      return client + ": " + url + " reports " + calls + " calls, but only " + made + " were sent";
    }
    JsonNode completeness = report.path("completeness");
    ReportedUsage now =
        new ReportedUsage(
            calls,
            offset(completeness.path("position").asText()),
            completeness.path("up_to_date").asBoolean(),
            url);
    ReportedUsage most = greatest.merge(client, now, ReportedUsage::most);
    return now.mayFollow(most) ? null : client + ": " + now + " after " + most;
  }

  /**
   * Returns the offset of a position {@code partition:offset}. The report of one client has only
   * one position.
   */
  private static long offset(String position) {
    return Long.parseLong(position.substring(position.lastIndexOf(':') + 1));
  }

  void stop() throws InterruptedException {
    stopping = true;
    thread.join();
  }

  @Override
  public void close() {
    stopping = true;
  }
}
