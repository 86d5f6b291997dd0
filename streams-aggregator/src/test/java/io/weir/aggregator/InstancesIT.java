// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.testing.Await;
import io.weir.testing.FullSuite;
import io.weir.topics.model.BatchHeader;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two aggregators that keep no copies for each other, and two that have one name. */
final class InstancesIT {
  private static final int PARTITIONS = 4;
  private static final String GROUP = "weir-meter-core";

  @TempDir Path folder;

  @Test
  void partitionOfAnotherInstance_isForwardedOnce_andNamedWhenNoneHasIt() throws Exception {
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

        JsonNode passedOn = Reports.document(second, path, "Usage-Position", position);
        assertEquals(3, passedOn.at("/data/0/quantity").asLong(), passedOn.toString());
        assertEquals(200, Reports.answer(second, "/v1/usage/" + client + "/events").statusCode());
        assertEquals(200, Reports.answer(second, "/v1/usage/" + client + "/current").statusCode());
        String never = partition + ":n:1:999";
        Await.until(
            "the problem of the other is passed on",
            () -> Reports.get(second, path, "Usage-Position", never).statusCode() == 504);

        assertMissing(partition, Reports.get(second, path, "Weir-Forwarded", "1"));

        first.close();
        assertMissing(partition, Reports.get(second, path));
        JsonNode completeness = Reports.document(second, "/v1/completeness");
        assertTrue(names(completeness, partition), completeness.toString());
        JsonNode accuracy = Reports.document(second, "/v1/accuracy");
        assertTrue(names(accuracy, partition), accuracy.toString());

        forget(broker, "first");
        JsonNode report = Reports.document(second, path);
        assertEquals(3, report.at("/data/0/quantity").asLong(), report.toString());
        assertEquals(0, elsewhere(second));
      } finally {
        first.close();
      }
    }
  }

  @Test
  void secondOverTheSameFolder_isRefused_andTheFirstGoesOn() throws Exception {
    try (Broker broker = new Broker(1);
        Aggregator first = Aggregator.start(config(broker, "one", "same"))) {
      Await.until("ready", first::ready);

      assertSays("in use by another process", config(broker, "other", "same"));

      assertAnswers(broker, first);
    }
  }

  @Test
  @FullSuite(reason = "waits for longer than a session")
  void secondOfTheSameName_isRefused_andTheFirstGoesOn() throws Exception {
    try (Broker broker = new Broker(1);
        Aggregator first = Aggregator.start(config(broker, "same", "one"))) {
      Await.until("ready", first::ready);

      assertSays("WEIR_INSTANCE", config(broker, "same", "two", Fleet.SHORT_SESSION));

      assertAnswers(broker, first);
    }
  }

  @Test
  void reportWithoutKafka_saysThatItMayBeOld() throws Exception {
    try (Broker broker = Broker.ofItsOwn(1);
        Aggregator only = Aggregator.start(config(broker, "only", "only"))) {
      Await.until("ready", only::ready);
      String client = Calls.clientOf("acme", 0, 1);
      String path = Reports.TOTAL + client;
      String position = send(broker, 0, client);
      Await.until(
          "the position is reached, and Kafka there",
          () -> upToDate(Reports.answer(only, path, "Usage-Position", position)));

      broker.stop();
      Await.until("Kafka is missed", () -> !upToDate(Reports.answer(only, path)));
      JsonNode old = Reports.document(only, path);
      assertEquals(3, old.at("/data/0/quantity").asLong(), old.toString());
      Await.until(
          "a table is refused",
          () -> {
            HttpResponse<String> csv = Reports.get(only, path, "Accept", "text/csv");
            assertEquals(503, csv.statusCode(), csv.body());
            return csv.body().contains("not-up-to-date");
          });
      assertEquals(200, Reports.get(only, "/health/ready").statusCode());

      broker.restart();
      Await.until("Kafka is found again", () -> upToDate(Reports.answer(only, path)));
    }
  }

  /** Ends the session of one that is closed, as its time-out would, so that others take over. */
  private static void forget(Broker broker, String instance) throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", broker.bootstrapServers()))) {
      admin
          .removeMembersFromConsumerGroup(
              GROUP,
              new RemoveMembersFromConsumerGroupOptions(
                  Set.of(new MemberToRemove(instance + "-1"))))
          .all()
          .get();
    }
  }

  private static void assertAnswers(Broker broker, Aggregator aggregator) throws Exception {
    String client = Calls.clientOf("acme", 0, 1);
    String position = send(broker, 0, client);
    JsonNode report =
        Reports.document(aggregator, Reports.TOTAL + client, "Usage-Position", position);
    assertEquals(3, report.at("/data/0/quantity").asLong(), report.toString());
  }

  private static boolean upToDate(HttpResponse<String> report) throws Exception {
    return Reports.MAPPER.readTree(report.body()).at("/completeness/up_to_date").asBoolean();
  }

  private static void assertSays(String words, AggregatorConfig config) {
    AggregatorStartException refused =
        assertThrows(AggregatorStartException.class, () -> Aggregator.start(config));
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
    assertEquals("partition-unavailable", problem.path("reason").asText(), response.body());
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

  /** One that is not forgotten while the test runs. */
  private AggregatorConfig config(Broker broker, String instance, String data) {
    return config(broker, instance, data, Fleet.ENDLESS_SESSION);
  }

  private AggregatorConfig config(
      Broker broker, String instance, String data, Duration sessionTimeout) {
    Map<String, String> environment = new HashMap<>();
    environment.put("WEIR_KAFKA", broker.bootstrapServers());
    environment.put("WEIR_SINGLE_COPY", "allow");
    environment.put("WEIR_DATA", folder.resolve(data).toString());
    environment.put("WEIR_REPORTS_PORT", "0");
    environment.put("WEIR_WINDOW", "PT2S");
    environment.put("WEIR_GRACE", "PT1S");
    environment.put("WEIR_INSTANCE", instance);
    environment.put("WEIR_STANDBYS", "0");
    environment.put("WEIR_SESSION_TIMEOUT", sessionTimeout.toString());
    return AggregatorConfig.of(environment);
  }
}
