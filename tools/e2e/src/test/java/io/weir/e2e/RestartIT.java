// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import io.weir.servers.Ports;
import io.weir.testing.FullSuite;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The process that holds broker, ingest and aggregator is killed with -9 in the middle of a run,
 * and started again over the same data: what was answered 200 or 429 is in the ledger exactly once.
 */
final class RestartIT {
  private static final int CALLS_BETWEEN_KILLS = 1_500;
  private static final String WINDOW = "PT5S";

  @TempDir private Path folder;

  @Test
  @FullSuite(
      reason =
          "two starts of everything under load; KilledNodeIT, KilledOwnerIT, KilledBrokerIT and"
              + " ChaosIT, which always run, kill each of its parts")
  void up_killedInTheMiddleOfARun_countsEveryAnsweredCallExactlyOnce() throws Exception {
    assertCountsExactlyOnceAfter(1);
  }

  @Test
  @FullSuite(reason = "four starts of everything; as with one kill")
  void up_killedThreeTimes_countsEveryAnsweredCallExactlyOnce() throws Exception {
    assertCountsExactlyOnceAfter(3);
  }

  private void assertCountsExactlyOnceAfter(int kills) throws Exception {
    int httpPort = Ports.free();
    int reportsPort = Ports.free();
    Map<String, String> environment = environment(httpPort, reportsPort);
    Caller caller = new Caller(() -> "http://127.0.0.1:" + httpPort + "/v1/check");
    Instant begun = Instant.now();

    WeirProcess weir = WeirProcess.start(folder, environment, "up");
    try {
      weir.awaitLine("weir is ready");
      caller.start();
      for (int i = 1; i <= kills; i++) {
        caller.awaitAnswered(CALLS_BETWEEN_KILLS, weir);
        weir.kill();
        weir = WeirProcess.start(folder, environment, "up");
        weir.awaitLine("weir is ready");
      }
      caller.awaitAnswered(CALLS_BETWEEN_KILLS, weir);
      caller.stop();

      Instant ended = Instant.now();
      Reckoning reckoning = new Reckoning(folder, weir.awaitLine("Kafka      "), WINDOW);
      reckoning.awaitClosed("http://127.0.0.1:" + reportsPort, ended);
      reckoning.assertNoRowIsWrittenAgain();
      reckoning.assertLedgerHoldsEveryAnswerOnce(caller);
      reckoning.assertVerified(begun, ended);
      weir.terminate();
      weir.awaitExit();
    } finally {
      caller.stop();
      weir.close();
    }
  }

  private Map<String, String> environment(int httpPort, int reportsPort) throws IOException {
    Path policies = folder.resolve("policies.yml");
    Files.writeString(
        policies,
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
