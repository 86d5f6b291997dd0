// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;

/**
 * Fails a benchmark if a node decided a call without the cache, because the results are then
 * invalid.
 */
final class DecidedByCache {
  private static final List<String> WITHOUT_CACHE = List.of("fail-open", "fail-closed", "local");

  private DecidedByCache() {}

  /**
   * Reads a node's metrics, and requires that the cache decided all calls.
   *
   * @throws IllegalStateException if a call was decided without the cache
   */
  static void require(String nodeUrl) throws IOException, InterruptedException {
    HttpRequest request = HttpRequest.newBuilder(URI.create(nodeUrl + "/metrics")).build();
    String metrics =
        HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body();
    double calls =
        metrics
            .lines()
            .filter(DecidedByCache::isOfCallsWithoutCache)
            .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
            .sum();
    if (calls > 0) {
      throw new IllegalStateException(
          String.format("%,.0f calls were decided without the cache by %s", calls, nodeUrl));
    }
  }

  private static boolean isOfCallsWithoutCache(String line) {
    return line.startsWith("weir_checks_total{")
        && WITHOUT_CACHE.stream().anyMatch(by -> line.contains("decided_by=\"" + by + "\""));
  }
}
