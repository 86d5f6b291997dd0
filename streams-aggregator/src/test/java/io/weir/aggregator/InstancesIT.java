// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.topics.model.BatchHeader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two aggregators that keep no copies for each other, and two that have one name. */
@Tag("slow")
final class InstancesIT {
  private static final int PARTITIONS = 4;
  private static final HttpClient HTTP = HttpClient.newHttpClient();

  @TempDir Path folder;

  @Test
  void partitionOfAnother_isAskedForOnce_andNamedWhenNobodyHasIt() throws Exception {
    try (Broker broker = new Broker(PARTITIONS)) {
      Aggregator first = Aggregator.start(config(broker, "first", "first"));
      Await.until("ready", first::ready);
      try (Aggregator second = Aggregator.start(config(broker, "second", "second"))) {
        Await.until("the second has a part", () -> elsewhere(second) > 0 && second.ready());
        int partition =
            Reports.document(second, "/health/ready").path("answered_elsewhere").path(0).asInt();
        String client = Calls.clientOf("acme", partition, PARTITIONS);
        String position = send(broker, partition, client);
        String path = Reports.TOTAL + client;

        JsonNode passedOn =
            Reports.MAPPER.readTree(get(second, path, "Usage-Position", position).body());
        assertEquals(3, passedOn.at("/data/0/quantity").asLong(), passedOn.toString());
        assertEquals(200, get(second, "/v1/usage/" + client + "/events").statusCode());
        assertEquals(200, get(second, "/v1/usage/" + client + "/current").statusCode());
        HttpResponse<String> bad = get(second, path, "Usage-Position", partition + ":n:1:999");
        assertEquals(504, bad.statusCode(), "the problem of the other is passed on");

        assertMissing(partition, get(second, path, "Weir-Forwarded", "1"));

        first.close();
        assertMissing(partition, get(second, path));
        JsonNode completeness = Reports.document(second, "/v1/completeness");
        assertTrue(names(completeness, partition), completeness.toString());
        JsonNode accuracy = Reports.document(second, "/v1/accuracy");
        assertTrue(names(accuracy, partition), accuracy.toString());

        Await.until("taken over", () -> get(second, path).statusCode() == 200);
        JsonNode report = Reports.document(second, path);
        assertEquals(3, report.at("/data/0/quantity").asLong(), report.toString());
        assertEquals(0, elsewhere(second));
      } finally {
        first.close();
      }
    }
  }

  @Test
  void secondOfTheSameName_isRefused_andTheFirstGoesOn() throws Exception {
    try (Broker broker = new Broker(1);
        Aggregator first = Aggregator.start(config(broker, "same", "one"))) {
      Await.until("ready", first::ready);

      AggregatorStartException folderInUse =
          assertThrows(
              AggregatorStartException.class,
              () -> Aggregator.start(config(broker, "other", "one")));
      assertSays("in use by another process", folderInUse);
      AggregatorStartException nameInUse =
          assertThrows(
              AggregatorStartException.class,
              () -> Aggregator.start(config(broker, "same", "two")));
      assertSays("WEIR_INSTANCE", nameInUse);

      String client = Calls.clientOf("acme", 0, 1);
      String position = send(broker, 0, client);
      HttpResponse<String> report = get(first, Reports.TOTAL + client, "Usage-Position", position);
      assertEquals(200, report.statusCode(), report.body());
    }
  }

  @Test
  void reportWhileKafkaIsAway_saysThatItMayBeOld() throws Exception {
    try (Broker broker = new Broker(1);
        Aggregator only = Aggregator.start(config(broker, "only", "only"))) {
      Await.until("ready", only::ready);
      String client = Calls.clientOf("acme", 0, 1);
      String path = Reports.TOTAL + client;
      String position = send(broker, 0, client);
      HttpResponse<String> before = get(only, path, "Usage-Position", position);
      assertTrue(upToDate(before), before.body());

      broker.stop();
      Await.until("Kafka is missed", () -> !upToDate(get(only, path)));
      HttpResponse<String> old = get(only, path);
      assertEquals(200, old.statusCode(), old.body());
      assertEquals(3, Reports.MAPPER.readTree(old.body()).at("/data/0/quantity").asLong());
      HttpResponse<String> csv = get(only, path, "Accept", "text/csv");
      assertEquals(503, csv.statusCode(), csv.body());
      assertTrue(csv.body().contains("not-up-to-date"), csv.body());
      assertEquals(200, Reports.get(only, "/health/ready").statusCode());

      broker.restart();
      Await.until("Kafka is found again", () -> upToDate(get(only, path)));
    }
  }

  private static boolean upToDate(HttpResponse<String> report) throws Exception {
    return Reports.MAPPER.readTree(report.body()).at("/completeness/up_to_date").asBoolean();
  }

  private static void assertSays(String words, AggregatorStartException refused) {
    assertTrue(String.valueOf(refused.getMessage()).contains(words), refused.toString());
  }

  private static int elsewhere(Aggregator aggregator) throws Exception {
    HttpResponse<String> ready = Reports.get(aggregator, "/health/ready");
    return ready.statusCode() == 200
        ? Reports.MAPPER.readTree(ready.body()).path("answered_elsewhere").size() % PARTITIONS
        : 0;
  }

  private static void assertMissing(int partition, HttpResponse<String> response) throws Exception {
    assertEquals(503, response.statusCode(), response.body());
    JsonNode problem = Reports.MAPPER.readTree(response.body());
    assertEquals("partition-unavailable", problem.path("type").asText(), response.body());
    assertTrue(names(problem, partition), response.body());
  }

  private static boolean names(JsonNode document, int partition) {
    for (JsonNode missing : document.path("missing_partitions")) {
      if (missing.asInt() == partition) {
        return true;
      }
    }
    return false;
  }

  private static String send(Broker broker, int partition, String client) {
    long now = System.currentTimeMillis();
    broker.send(
        partition,
        new BatchHeader("n", 1, 1, 3, now, 0, false),
        Calls.value(
            List.of(
                Calls.allowed("1", client, 1, now),
                Calls.allowed("2", client, 1, now),
                Calls.allowed("3", client, 1, now))));
    broker.flush();
    return partition + ":n:1:3";
  }

  private static HttpResponse<String> get(Aggregator aggregator, String path, String... headers)
      throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + aggregator.reportsPort() + path));
    if (headers.length > 0) {
      request.headers(headers);
    }
    return HTTP.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  private AggregatorConfig config(Broker broker, String instance, String data) {
    Map<String, String> environment = new HashMap<>();
    environment.put("WEIR_KAFKA", broker.bootstrapServers());
    environment.put("WEIR_DATA", folder.resolve(data).toString());
    environment.put("WEIR_REPORTS_PORT", "0");
    environment.put("WEIR_WINDOW", "PT2S");
    environment.put("WEIR_GRACE", "PT1S");
    environment.put("WEIR_INSTANCE", instance);
    environment.put("WEIR_STANDBYS", "0");
    return AggregatorConfig.of(environment);
  }
}
