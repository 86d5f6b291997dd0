// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.testing.Await;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An aggregator that cannot open files for a while. */
final class NoFilesLeftIT {
  private static final int PARTITIONS = 1;

  private static final int ROWS_AT_ONCE = 25_000;

  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  /**
   * Regression: the table was not followed for minutes after files could be opened again, and
   * {@code /health/live} was 200 meanwhile.
   */
  @Test
  void table_noFileCanBeOpened_isNotLive_andRecoversWhenFilesCanBeOpened(@TempDir Path folder)
      throws Exception {
    try (Broker broker = new Broker(PARTITIONS);
        Fleet fleet = new Fleet(broker, PARTITIONS, folder, 1, Fleet.ENDLESS_SESSION)) {
      fleet.awaitAllHaveAll();
      String client = Calls.clientOf("acme", 0, PARTITIONS);
      assertEquals(200, status(fleet, "/health/live"));

      StateRows rows = new StateRows(client);
      fleet.member(0).limitFiles(16); // fewer than are open; those stay open
      Await.until(
          "the table fails",
          () -> {
            rows.send(broker, ROWS_AT_ONCE);
            return status(fleet, "/health/live") == 503;
          });
      assertEquals(503, status(fleet, "/v1/usage?client=" + client));
      fleet.member(0).limitFiles(4_096);

      Await.until(
          "live, and up to date",
          () ->
              status(fleet, "/health/live") == 200
                  && status(fleet, "/v1/usage?client=" + client) == 200);
    }
  }

  private int status(Fleet fleet, String path) throws Exception {
    return http.send(
            HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + fleet.port(0) + path)).build(),
            HttpResponse.BodyHandlers.ofString())
        .statusCode();
  }
}
