// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.weir.ingest.policy.log.PolicyLogReader;
import io.weir.ingest.policy.log.PolicyLogState;
import io.weir.servers.testing.TestKafka;
import io.weir.testing.Await;
import io.weir.testing.FullSuite;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code policies apply} of many clients ends between its records. */
@FullSuite(
    reason =
        "applies 100,000 clients three times; PolicyEditorIT ends an editor in the middle of a"
            + " change")
final class InterruptedApplyIT {
  private static final int CLIENTS = 100_000;
  private static final int RECORDS_BEFORE_THE_END = 5_000;
  private static final TopicPartition LOG = new TopicPartition(Topics.CLIENTS.name(), 0);

  @TempDir private Path folder;

  /** The numbers of clients that a reader has ever seen in force. */
  private final Set<Integer> seen = new ConcurrentSkipListSet<>();

  private final AtomicBoolean isOver = new AtomicBoolean();

  @Test
  void apply_endsBetweenItsRecords_isAppliedAsAWholeByTheNextApply() throws Exception {
    ExecutorService thread = Executors.newSingleThreadExecutor();
    try (TestKafka kafka = TestKafka.borrow();
        Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
      KafkaConnection connection = KafkaConnection.to(kafka.bootstrapServers());
      try (TopicAdmin topics = TopicAdmin.connect(connection)) {
        topics.createMissing(1, Optional.empty());
      }
      Map<String, String> environment =
          Map.of("WEIR_KAFKA", kafka.bootstrapServers(), "WEIR_SINGLE_COPY", "allow");
      apply(environment, write("few.yml", 1));
      Future<?> follower = thread.submit(() -> follow(connection));
      Path many = write("many.yml", CLIENTS);

      for (String signal : List.of("KILL", "INT")) {
        long before = end(admin);
        try (WeirProcess apply =
            WeirProcess.start(folder, environment, "policies", "apply", many.toString())) {
          Await.until(
              apply::errors,
              () ->
                  read(connection).version() > 1 || end(admin) >= before + RECORDS_BEFORE_THE_END);
          new ProcessBuilder("kill", "-" + signal, Long.toString(apply.pid())).start().waitFor();
          apply.awaitExit();
        }
        PolicyLogState left = read(connection);
        assertEquals(left.version() == 1 ? 1 : CLIENTS, left.clientEntries().size());
      }

      apply(environment, many);
      PolicyLogState state = read(connection);
      assertEquals(2, state.version());
      assertEquals(CLIENTS, state.clientEntries().size());
      Await.until(seen::toString, () -> seen.contains(CLIENTS));
      isOver.set(true);
      assertNull(follower.get());
      assertEquals(Set.of(1, CLIENTS), seen);
    } finally {
      isOver.set(true);
      thread.shutdownNow();
    }
  }

  private void apply(Map<String, String> environment, Path file) throws Exception {
    try (WeirProcess apply =
        WeirProcess.start(folder, environment, "policies", "apply", file.toString())) {
      assertEquals(0, apply.awaitExit(), apply::errors);
    }
  }

  private Path write(String name, int clients) throws Exception {
    StringBuilder text = new StringBuilder("policies: []\nclients:\n");
    for (int i = 0; i < clients; i++) {
      text.append("  c").append(i).append(": {time_zone: Europe/Paris}\n");
    }
    return Files.writeString(folder.resolve(name), text);
  }

  /** Returns the end of the clients topic, records without a commit included. */
  private static long end(Admin admin) throws Exception {
    return admin.listOffsets(Map.of(LOG, OffsetSpec.latest())).partitionResult(LOG).get().offset();
  }

  private static PolicyLogState read(KafkaConnection kafka) {
    try (PolicyLogReader reader = PolicyLogReader.open(kafka, "new")) {
      PolicyLogState state = reader.readToEnd(Await.TIMEOUT);
      assertNull(reader.refusal());
      return state;
    }
  }

  /** Follows the log as a node does. */
  private void follow(KafkaConnection kafka) {
    try (PolicyLogReader reader = PolicyLogReader.open(kafka, "follower")) {
      reader.readToEnd(Await.TIMEOUT);
      while (!isOver.get()) {
        seen.add(reader.state().clientEntries().size());
        reader.follow(Duration.ofMillis(50));
      }
    }
  }
}
