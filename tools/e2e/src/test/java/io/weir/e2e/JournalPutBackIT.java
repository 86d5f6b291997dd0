// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import io.weir.servers.Ports;
import io.weir.testing.FullSuite;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A copy of a journal is put back, as a restored disk does: the process then knows nothing of what
 * it has recorded since, and what it records from then on is billed all the same.
 */
final class JournalPutBackIT {
  private static final int CALLS = 1_000;
  private static final String WINDOW = "PT5S";

  @TempDir private Path folder;

  @Test
  @FullSuite(
      reason =
          "three starts of everything; JournalsTest and the simulation, whose mutant is the old"
              + " behaviour, always put journals back")
  void journalFolderCopiedAndPutBack_everyAnsweredCallIsBilledOnce() throws Exception {
    int httpPort = Ports.free();
    int reportsPort = Ports.free();
    Map<String, String> environment = environment(httpPort, reportsPort);
    Path journal = folder.resolve("data").resolve("ingest").resolve("journal");
    Path copy = folder.resolve("copy");
    Caller caller = new Caller(() -> "http://127.0.0.1:" + httpPort + "/v1/check");
    Instant begun = Instant.now();
    WeirProcess weir = WeirProcess.start(folder, environment, "up");
    try {
      weir.awaitLine("weir is ready");
      caller.start();
      caller.awaitAnswered(CALLS, weir);
      stop(weir);
      copy(journal, copy);

      weir = WeirProcess.start(folder, environment, "up");
      weir.awaitLine("weir is ready");
      caller.awaitAnswered(CALLS, weir);
      stop(weir);
      delete(journal);
      copy(copy, journal);

      weir = WeirProcess.start(folder, environment, "up");
      weir.awaitLine("weir is ready");
      caller.awaitAnswered(CALLS, weir);
      caller.stop();

      Instant ended = Instant.now();
      Reckoning reckoning = new Reckoning(folder, weir.awaitLine("Kafka      "), WINDOW);
      reckoning.awaitClosed("http://127.0.0.1:" + reportsPort, ended);
      reckoning.assertLedgerHoldsEveryAnswerOnce(caller);
      reckoning.assertVerified(begun, ended);
      stop(weir);
    } finally {
      caller.stop();
      weir.close();
    }
  }

  /** In order, so that Kafka has every call that was answered. */
  private static void stop(WeirProcess weir) throws Exception {
    weir.terminate();
    weir.awaitExit();
  }

  private static void copy(Path from, Path to) throws IOException {
    try (Stream<Path> files = Files.walk(from)) {
      for (Path file : (Iterable<Path>) files::iterator) {
        Files.copy(file, to.resolve(from.relativize(file).toString()));
      }
    }
  }

  private static void delete(Path tree) throws IOException {
    List<Path> files;
    try (Stream<Path> walk = Files.walk(tree)) {
      files = walk.sorted((one, other) -> other.compareTo(one)).toList();
    }
    for (Path file : files) {
      Files.delete(file);
    }
  }

  private Map<String, String> environment(int httpPort, int reportsPort) throws IOException {
    Path policies =
        Files.writeString(
            folder.resolve("policies.yml"),
            """
            policies:
              - name: tight
                match: {endpoint: ["GET *"]}
                limit: {algorithm: token-bucket, capacity: 20, refill_tokens: 1, refill_period: PT1M}
            """);
    Map<String, String> environment = new HashMap<>();
    environment.put("WEIR_DATA", folder.resolve("data").toString());
    environment.put("WEIR_POLICIES", policies.toString());
    environment.put("WEIR_HTTP_PORT", Integer.toString(httpPort));
    environment.put("WEIR_REPORTS_PORT", Integer.toString(reportsPort));
    environment.put("WEIR_KAFKA_PORT", Integer.toString(Ports.free()));
    environment.put("WEIR_REDIS_PORT", Integer.toString(Ports.free()));
    environment.put("WEIR_WINDOW", WINDOW);
    environment.put("WEIR_GRACE", "PT2S");
    environment.put("WEIR_DECISION_DEADLINE", "PT10S");
    return environment;
  }
}
