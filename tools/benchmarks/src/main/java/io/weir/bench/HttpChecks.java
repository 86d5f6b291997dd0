// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Sends checks over HTTP, each to the next node. Thread-safe. */
final class HttpChecks {
  private static final int ALLOWED = 200;
  private static final int DENIED = 429;

  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final AtomicInteger next = new AtomicInteger();
  private final List<String> nodeUrls;

  HttpChecks(List<String> nodeUrls) {
    this.nodeUrls = List.copyOf(nodeUrls);
  }

  /** Returns whether the call of {@code client-<number>} is allowed. */
  boolean isAllowed(int client, long cost) {
    String node = nodeUrls.get(Math.floorMod(next.getAndIncrement(), nodeUrls.size()));
    try {
      int status =
          http.send(
                  HttpRequest.newBuilder(URI.create(node + "/v1/check"))
                      .POST(
                          HttpRequest.BodyPublishers.ofString(
                              "{\"client\":\"client-" + client + "\",\"cost\":" + cost + "}"))
                      .build(),
                  HttpResponse.BodyHandlers.discarding())
              .statusCode();
      if (status != ALLOWED && status != DENIED) {
        throw new IllegalStateException("status " + status);
      }
      return status == ALLOWED;
    } catch (IOException failed) {
      throw new IllegalStateException(failed);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(interrupted);
    }
  }
}
