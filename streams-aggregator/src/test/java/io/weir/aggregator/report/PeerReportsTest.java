// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import io.weir.servers.Ports;
import io.weir.testing.Await;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.streams.state.HostInfo;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Peers that answer, refuse, are gone, or accept the connection and never answer. */
final class PeerReportsTest {
  private static final PeerReports.ForwardedRequest QUESTION =
      new PeerReports.ForwardedRequest(
          "/v1/usage?client=a%2Fb", Map.of("Accept", Answer.JSON), Await.TIMEOUT, Await.TIMEOUT);

  private final List<HttpServer> servers = new ArrayList<>();
  private final PeerReports peers = new PeerReports(Await.TIMEOUT, null);

  @AfterEach
  void stop() {
    servers.forEach(server -> server.stop(0));
  }

  @Test
  void peerWithThePartition_itsAnswerIsUsed_whateverItsStatus() throws Exception {
    assertEquals(504, status(List.of(answering(504, "{}"), answering(200, "{}"))));
  }

  @Test
  void peerWithoutThePartitionOrNotReady_isSkipped() throws Exception {
    List<HostInfo> origin =
        List.of(
            answering(503, problem(ProblemReason.PARTITION_UNAVAILABLE)),
            answering(503, problem(ProblemReason.NOT_READY)),
            answering(503, "<html>stopping</html>"),
            answering(503, ""),
            answering(200, "{}"));

    assertEquals(200, status(origin));
    assertEquals(Optional.empty(), peers.requestInTurn(origin.subList(0, 4), QUESTION));
  }

  @Test
  void peerBusyOrNotUpToDate_itsAnswerIsUsed() throws Exception {
    assertEquals(503, status(List.of(answering(503, problem(ProblemReason.BUSY)))));
    assertEquals(503, status(List.of(answering(503, problem(ProblemReason.NOT_UP_TO_DATE)))));
  }

  private static String problem(ProblemReason reason) {
    return new String(Problem.of(reason, "detail").toJson(), StandardCharsets.UTF_8);
  }

  @Test
  void peerGone_isSkipped() throws Exception {
    assertEquals(
        200, status(List.of(new HostInfo("127.0.0.1", Ports.free()), answering(200, "{}"))));
    assertEquals(Optional.empty(), peers.requestInTurn(List.of(), QUESTION));
  }

  @Test
  void peerThatHangs_isNotWaitedFor() throws Exception {
    try (ServerSocket still = new ServerSocket(0, 9, InetAddress.getLoopbackAddress())) {
      HostInfo stopped = new HostInfo("127.0.0.1", still.getLocalPort());
      PeerReports.ForwardedRequest soonElsewhere =
          new PeerReports.ForwardedRequest("/", Map.of(), Duration.ofMillis(20), Await.TIMEOUT);
      long begun = System.nanoTime();

      assertEquals(200, status(List.of(stopped, stopped, answering(200, "{}")), soonElsewhere));

      Duration took = Duration.ofNanos(System.nanoTime() - begun);
      assertTrue(took.compareTo(Await.TIMEOUT) < 0, took.toString());
    }
  }

  @Test
  void allPeersHang_returnsEmptyWithinTheTimeout() throws Exception {
    try (ServerSocket still = new ServerSocket(0, 9, InetAddress.getLoopbackAddress())) {
      HostInfo stopped = new HostInfo("127.0.0.1", still.getLocalPort());
      PeerReports.ForwardedRequest brief =
          new PeerReports.ForwardedRequest(
              "/", Map.of(), Duration.ofMillis(20), Duration.ofMillis(200));

      assertEquals(Optional.empty(), peers.requestInTurn(List.of(stopped, stopped), brief));
    }
  }

  private int status(List<HostInfo> origin) throws InterruptedException {
    return status(origin, QUESTION);
  }

  private int status(List<HostInfo> origin, PeerReports.ForwardedRequest question)
      throws InterruptedException {
    return peers.requestInTurn(origin, question).orElseThrow().status();
  }

  private HostInfo answering(int status, String body) throws IOException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 9);
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    server.createContext(
        "/",
        exchange -> {
          exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
          exchange.getResponseBody().write(bytes);
          exchange.close();
        });
    server.start();
    servers.add(server);
    return new HostInfo("127.0.0.1", server.getAddress().getPort());
  }
}
