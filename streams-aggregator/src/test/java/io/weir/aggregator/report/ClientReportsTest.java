// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpServer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.testing.Await;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.apache.kafka.streams.state.HostInfo;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** An aggregator that has two of four partitions, and another one that has the third. */
final class ClientReportsTest {
  private static final String OTHER =
      "{\"clients\":[\"acme\",\"bell\",\"zoe\"],\"has_more\":false,\"partitions\":[1,2]}";

  private final ObjectMapper mapper = new ObjectMapper();
  private HttpServer other;
  private ClientReports reports;
  private volatile String origin = "nothing";

  @BeforeEach
  void start() throws Exception {
    other = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    other.createContext(
        "/",
        exchange -> {
          origin = exchange.getRequestURI().toString();
          byte[] body = OTHER.getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(200, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    other.start();
    HostInfo peer = new HostInfo("127.0.0.1", other.getAddress().getPort());
    reports =
        new ClientReports(
            new AllPartitions(
                new TableOfNames(Map.of(0, List.of("acme", "cobb"), 1, List.of("bell"))),
                () -> List.of(peer),
                new PeerReports(null),
                4),
            new ReportTurns(1, new SimpleMeterRegistry()));
  }

  @AfterEach
  void stop() {
    other.stop(0);
  }

  @Test
  void otherInstances_areQueriedOnce_namesMergedInOrder() throws Exception {
    JsonNode all = answered(10);

    assertEquals("[\"acme\",\"bell\",\"cobb\",\"zoe\"]", all.path("clients").toString());
    assertEquals("false", all.path("has_more").toString());
    assertEquals("/v1/clients?limit=10", origin);
  }

  @Test
  void namesAboveTheLimit_areCut_andReportedAsMore() throws Exception {
    JsonNode some = answered(2);

    assertEquals("[\"acme\",\"bell\"]", some.path("clients").toString());
    assertEquals("true", some.path("has_more").toString());
  }

  @Test
  void queriedByAnInstance_returnsItsOwnNamesOnly() throws Exception {
    JsonNode own = mapper.readTree(reports.answer("", 10, "/v1/clients", caller(true)).body());

    assertEquals("[\"acme\",\"bell\",\"cobb\"]", own.path("clients").toString());
    assertEquals("[0,1]", own.path("partitions").toString());
    assertEquals("nothing", origin);
  }

  private static ReportCaller caller(boolean isForwarded) {
    return new ReportCaller("anybody", null, isForwarded, () -> false);
  }

  /** The answer, once the other one was in time. */
  private JsonNode answered(int limit) throws Exception {
    JsonNode[] last = new JsonNode[1];
    Await.until(
        () -> "the other instance's part; last response: " + last[0],
        () -> {
          String path = "/v1/clients?limit=" + limit;
          last[0] = mapper.readTree(reports.answer("", limit, path, caller(false)).body());
          return last[0].path("missing_partitions").toString().equals("[3]");
        });
    return last[0];
  }
}
