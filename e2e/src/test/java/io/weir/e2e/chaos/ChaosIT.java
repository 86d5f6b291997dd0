// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Faults on separate processes under load, once each: one of every kind in CI, all of them with
 * {@code -Dweir.e2e.long=true}; {@code ./weir chaos} is the long form.
 */
@Timeout(1_200)
final class ChaosIT {
  private static final List<String> ONE_OF_EVERY_KIND =
      List.of(
          "ingest killed",
          "ingest stands still",
          "both aggregators killed",
          "aggregator's state lost",
          "aggregator stands still",
          "broker away, ingest killed meanwhile",
          "broker stands still",
          "Redis killed");

  @TempDir private Path folder;

  @Test
  void faults_loseNothing_doubleNothing_andAreReportedRightly() throws Exception {
    Chaos chaos =
        new Chaos(
            folder,
            Boolean.getBoolean("weir.e2e.long") ? Chaos.names() : ONE_OF_EVERY_KIND,
            Duration.ofSeconds(4),
            20_261_121,
            (round, fault) -> System.out.println("round " + round + ": " + fault));
    Chaos.Outcome outcome = chaos.run(Duration.ZERO);

    outcome.print(new PrintWriter(System.out, true, StandardCharsets.UTF_8));
    assertEquals(List.of(), outcome.details().stream().limit(20).toList());
    assertTrue(outcome.isRight());
  }
}
