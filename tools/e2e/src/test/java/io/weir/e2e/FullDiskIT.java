// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.servers.Ports;
import io.weir.testing.FullSuite;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The disk under all of {@code up} is full, and has room again. */
@FullSuite(
    reason = "mounts a disk and starts everything twice; StopIT ends a process whose part is dead")
final class FullDiskIT {
  private static final String WINDOW = "PT5S";
  private static final int CALLS = 300;

  /** An empty up takes half of it. */
  private static final int DISK_MEBIBYTES = 160;

  private static final long MAX_LOG_BYTES = 4 << 20;

  @TempDir private Path folder;

  @Test
  void up_diskFull_endsByItself_andCountsEveryAnsweredCallOnceThereIsRoom() throws Exception {
    try (SmallDisk disk = SmallDisk.mount(folder.resolve("disk"), DISK_MEBIBYTES)) {
      fillAndEmpty(disk);
    } catch (SmallDisk.NoDiskException unable) {
      Assumptions.abort(unable.getMessage());
    }
  }

  private void fillAndEmpty(SmallDisk disk) throws Exception {
    int httpPort = Ports.free();
    int reportsPort = Ports.free();
    Map<String, String> environment = environment(disk.folder(), httpPort, reportsPort);
    Caller caller = new Caller(() -> "http://127.0.0.1:" + httpPort + "/v1/check");
    Instant begun = Instant.now();
    WeirProcess weir = WeirProcess.start(folder, environment, "up");
    try {
      weir.awaitLine("weir is ready");
      caller.start();
      caller.awaitAnswered(CALLS, weir);

      disk.fill();

      assertEquals(1, weir.awaitExit());
      String errors = weir.errors();
      assertTrue(errors.contains("Kafka has stopped: "), errors);
      assertTrue(errors.length() < MAX_LOG_BYTES, () -> errors.length() + " characters of log");

      disk.empty();
      weir = WeirProcess.start(folder, environment, "up");
      weir.awaitLine("weir is ready");
      caller.awaitAnswered(CALLS, weir);
      caller.stop();
      Instant ended = Instant.now();
      Reckoning reckoning = new Reckoning(folder, weir.awaitLine("Kafka      "), WINDOW);
      reckoning.awaitClosed("http://127.0.0.1:" + reportsPort, ended);
      reckoning.assertLedgerHoldsEveryAnswerOnce(caller);
      reckoning.assertVerified(begun, ended);
      weir.terminate();
      assertEquals(0, weir.awaitExit(), weir.errors());
    } finally {
      caller.stop();
      weir.close();
    }
  }

  private Map<String, String> environment(Path disk, int httpPort, int reportsPort)
      throws Exception {
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
    environment.put("WEIR_DATA", disk.resolve("data").toString());
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
