// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpServer;
import io.weir.aggregator.ranking.RankingSelection;
import io.weir.aggregator.ranking.Rankings;
import io.weir.aggregator.table.TableStore;
import io.weir.aggregator.table.TableWrites;
import io.weir.testing.Await;
import io.weir.topics.model.UsageCount;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageState;
import io.weir.topics.model.UsageWindow;
import io.weir.topics.wire.UsageStateCodec;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.streams.state.HostInfo;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * An aggregator that has the partitions 0 and 1 of four, and has not read 1 yet, and another one
 * that has 0 to 2.
 */
final class RankingReportsTest {
  private static final long HOUR = 3_600_000;
  private static final ReportCaller CALLER = new ReportCaller("anybody", null, false, () -> false);

  private static final String OTHER =
      """
      {"partitions":[
        {"partition":0,"watermark_ms":9,"up_to_date":true,
         "increase_error":0,"decrease_error":0,"names":{"a%2F":[500,0]}},
        {"partition":1,"watermark_ms":7000,"up_to_date":true,
         "increase_error":10,"decrease_error":4,"names":{"b":[100,30],"GET%20%2F":[7,0]}},
        {"partition":2,"watermark_ms":8000,"up_to_date":false,
         "increase_error":0,"decrease_error":0,"names":{"@others":[60,1]}}]}
      """;

  @TempDir Path folder;

  private final ObjectMapper mapper = new ObjectMapper();
  private HttpServer other;
  private TableStore store;
  private Rankings rankings;
  private RankingReports reports;
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
    store = TableStore.open(folder, "topic");
    rankings = new Rankings(store, Duration.ofHours(1), 24, Duration.ZERO);
    write(new UsageKey("a/", "m n", "GET /"), 5);
    write(UsageKey.others("a/", "m n"), 3);
    rankings.begin(0);
    while (rankings.work(5_000_000)) {
      assertTrue(origin.equals("nothing"));
    }
    rankings.begin(1);
    reports =
        new RankingReports(
            new AllPartitions(
                new TableOfNames(Map.of(0, List.of(), 1, List.of())),
                () -> List.of(peer),
                new PeerReports(null),
                4),
            rankings);
  }

  @AfterEach
  void stop() {
    store.close();
    other.stop(0);
  }

  @Test
  void clients_areThoseOfEachPartitionOnce_withItsError() throws Exception {
    JsonNode answer = answered(RankingSelection.Subject.CLIENTS, 2);

    assertEquals(
        "[{\"client\":\"b\",\"quantity\":73,\"lower_bound\":66,\"upper_bound\":80,\"error\":14},"
            + "{\"client\":\"other\",\"others\":true,\"quantity\":59,\"lower_bound\":59,"
            + "\"upper_bound\":59,\"error\":0}]",
        answer.path("clients").toString());
    assertTrue(answer.path("has_more").asBoolean());
    assertEquals(17, answer.path("unlisted_at_most").asLong(), "GET / of partition 1");
    assertEquals("m n", answer.path("unit").asText());
    assertEquals("null", answer.path("as_of").toString(), "partition 0 has no watermark");
    assertEquals("false", answer.path("up_to_date").toString());
  }

  @Test
  void endpoints_areSumsOverPartitions_withTheErrorsOfAll() throws Exception {
    JsonNode answer = answered(RankingSelection.Subject.ENDPOINTS, 10);

    assertEquals(
        "{\"endpoint\":\"other\",\"others\":true,\"quantity\":65,\"lower_bound\":58,"
            + "\"upper_bound\":72,\"error\":14}",
        answer.at("/endpoints/1").toString());
    assertEquals(
        "{\"endpoint\":\"GET /\",\"quantity\":15,\"lower_bound\":8,\"upper_bound\":22,"
            + "\"error\":14}",
        answer.at("/endpoints/2").toString());
    assertEquals(10, answer.path("unlisted_at_most").asLong());
  }

  @Test
  void queriedByAnInstance_returnsWhatThatInstanceReads() throws Exception {
    answered(RankingSelection.Subject.ENDPOINTS, 10);
    assertEquals(
        "/internal/v1/rankings?subject=endpoints&order=quantity&meter=m+n"
            + "&from=1970-01-01T00%3A00%3A00Z&to=1970-01-01T01%3A00%3A00Z&prefix=",
        origin);

    Map<String, List<String>> parameters =
        Map.of(
            "subject", List.of("endpoints"),
            "meter", List.of("m n"),
            "from", List.of("1971-01-01T00:00:00Z"),
            "to", List.of("1971-01-01T01:00:00Z"));
    JsonNode none = mapper.readTree(reports.local(parameters).body());

    assertEquals(
        "{\"partitions\":[{\"partition\":0,\"watermark_ms\":0,\"up_to_date\":true,"
            + "\"increase_error\":0,\"decrease_error\":0,\"names\":{}}]}",
        none.toString());
  }

  /** Regression: after a start, a list that lacked partitions was called up to date. */
  @Test
  void partitionStillBeingRead_isMissing_andTheRankingIsNotUpToDate() throws Exception {
    RankingReports alone =
        new RankingReports(
            new AllPartitions(
                new TableOfNames(Map.of(0, List.of(), 1, List.of())),
                List::of,
                new PeerReports(null),
                2),
            rankings);

    JsonNode before = ofAll(alone);
    while (rankings.work(5_000_000)) {
      assertTrue(origin.equals("nothing"));
    }
    JsonNode after = ofAll(alone);

    assertEquals("[1]", before.path("missing_partitions").toString());
    assertEquals("false", before.path("up_to_date").toString());
    assertEquals("[]", after.path("missing_partitions").toString());
    assertEquals("true", after.path("up_to_date").toString());
  }

  private JsonNode ofAll(RankingReports asked) throws Exception {
    RankingSelection selection =
        new RankingSelection(
            RankingSelection.Subject.CLIENTS,
            RankingSelection.Measure.QUANTITY,
            "m n",
            0,
            HOUR,
            "");
    Answer answer = asked.answer(new RankingQuery(selection, 10), CALLER);
    return mapper.readTree(answer.body());
  }

  /** The answer, once the other one was in time. */
  private JsonNode answered(RankingSelection.Subject subject, int limit) throws Exception {
    RankingSelection selection =
        new RankingSelection(subject, RankingSelection.Measure.QUANTITY, "m n", 0, HOUR, "");
    JsonNode[] last = new JsonNode[1];
    Await.until(
        () -> "the other instance's part; last response: " + last[0],
        () -> {
          last[0] =
              mapper.readTree(reports.answer(new RankingQuery(selection, limit), CALLER).body());
          return last[0].path("missing_partitions").toString().equals("[3]");
        });
    return last[0];
  }

  private void write(UsageKey key, long quantity) {
    UsageState state =
        new UsageState(
            key,
            new UsageWindow(0, HOUR),
            UsageState.Status.RUNNING,
            0,
            new UsageCount(quantity, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0),
            false);
    TableWrites.write(
        store,
        rankings,
        0,
        UsageStateCodec.key(state).getBytes(StandardCharsets.UTF_8),
        UsageStateCodec.encode(state));
  }
}
