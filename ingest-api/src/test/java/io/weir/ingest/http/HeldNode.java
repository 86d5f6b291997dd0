// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.access.Access;
import io.weir.decision.memory.MemoryDecisionCache;
import io.weir.ingest.authz.AuthzSettings;
import io.weir.ingest.correct.Corrections;
import io.weir.ingest.event.EventRules;
import io.weir.ingest.gate.CheckGate;
import io.weir.ingest.gate.LocalDecider;
import io.weir.ingest.rls.RateLimitSettings;
import io.weir.ingest.settle.Settler;
import io.weir.ingest.trace.TraceSettings;
import io.weir.ingest.trace.Traces;
import io.weir.limits.policy.PolicyMatcher;
import io.weir.limits.policy.PolicySet;
import io.weir.testing.Await;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/** The check API on a real port, over a call log that can be held. */
final class HeldNode implements AutoCloseable {
  private static final String CHECK = "{\"client\":\"a\"}";

  final HeldCalls calls = new HeldCalls();
  final HttpStatistics statistics = new HttpStatistics(new SimpleMeterRegistry());
  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  final AtomicInteger scrapesUnderWay = new AtomicInteger();
  private volatile CountDownLatch scrapesLetGo = new CountDownLatch(0);
  private final CheckApi api;

  HeldNode(int maxCallsUnderWay, Duration queueDelayTarget, int maxConnections) {
    PolicyMatcher matcher = PolicyMatcher.of(new PolicySet(1, List.of()));
    api =
        CheckApi.start(
            new CheckApi.Parts(
                new CheckGate(
                    () -> matcher,
                    new MemoryDecisionCache(() -> 1),
                    new LocalDecider(1, () -> 1),
                    calls,
                    () -> "id",
                    null,
                    new SimpleMeterRegistry()),
                new Settler(
                    new NothingFound(), calls, settlement -> null, new SimpleMeterRegistry()),
                new MemoryDecisionCache(() -> 1),
                calls,
                () -> new Corrections.Health(true, ""),
                () -> true,
                this::scrape,
                null,
                EventRules.none(),
                Access.ofEverybody(),
                null,
                Traces.create(TraceSettings.OFF, "node", new SimpleMeterRegistry())),
            new HttpSettings(
                "127.0.0.1",
                0,
                Runtime.version().feature() >= 21,
                maxCallsUnderWay,
                false,
                queueDelayTarget,
                maxConnections,
                HttpSettings.DEFAULT_KEEP_ALIVE,
                0,
                UnknownMembers.REFUSE,
                LimitHeaders.DEFAULT,
                AuthzSettings.OFF,
                RateLimitSettings.OFF),
            statistics);
  }

  /** Waits while the test holds scrapes. */
  private String scrape() {
    scrapesUnderWay.incrementAndGet();
    try {
      scrapesLetGo.await();
    } catch (InterruptedException stopping) {
      Thread.currentThread().interrupt();
    }
    return "";
  }

  /** From now on scrapes do not end before {@link #letScrapesGo}. */
  void holdScrapes() {
    scrapesLetGo = new CountDownLatch(1);
  }

  void letScrapesGo() {
    scrapesLetGo.countDown();
  }

  CompletableFuture<HttpResponse<String>> scrapeLater() {
    return http.sendAsync(
        HttpRequest.newBuilder(uri("/metrics")).build(), HttpResponse.BodyHandlers.ofString());
  }

  RawHttp connect() throws IOException {
    return RawHttp.connect(api.port());
  }

  CompletableFuture<HttpResponse<String>> check() {
    return http.sendAsync(post("/v1/check", CHECK), HttpResponse.BodyHandlers.ofString());
  }

  HttpResponse<String> send(String path, String body) throws IOException, InterruptedException {
    return http.send(post(path, body), HttpResponse.BodyHandlers.ofString());
  }

  HttpResponse<String> get(String path) throws IOException, InterruptedException {
    return http.send(
        HttpRequest.newBuilder(uri(path)).build(), HttpResponse.BodyHandlers.ofString());
  }

  private HttpRequest post(String path, String body) {
    return HttpRequest.newBuilder(uri(path))
        .POST(HttpRequest.BodyPublishers.ofString(body))
        .build();
  }

  private URI uri(String path) {
    return URI.create("http://127.0.0.1:" + api.port() + path);
  }

  /** Stops and waits for the calls in progress for as long as they take. */
  void stopWithoutLettingGo() {
    api.close(Await.TIMEOUT);
  }

  @Override
  public void close() {
    letScrapesGo();
    calls.letGo();
    api.close();
  }
}
