// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.e2e.audit.Outcome;
import io.weir.e2e.audit.Rounds;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Faults on separate processes under load, once each: one of every kind in CI, all of them with
 * {@code -Dweir.e2e.long=true}; {@code ./weir chaos} is the long form.
 */
@Tag("slow")
@Timeout(2_400)
final class ChaosIT {
  private static final List<String> ONE_OF_EVERY_KIND =
      List.of(
          "all ingest restarted in turn",
          "both aggregators killed",
          "aggregator's state lost",
          "brokers away, ingest killed meanwhile",
          "Redis killed",
          "cut: ingest, all brokers",
          "still: aggregator, a broker");

  @TempDir private Path folder;

  @Test
  void faults_loseNothing_doubleNothing_andAreReportedRightly() throws Exception {
    Chaos chaos =
        new Chaos(
            folder,
            3,
            Boolean.getBoolean("weir.e2e.long") ? Chaos.names(3) : ONE_OF_EVERY_KIND,
            Duration.ofSeconds(4),
            20_261_121,
            new Lines());
    Outcome outcome = chaos.run(Duration.ZERO);

    outcome.print(new PrintWriter(System.out, true, StandardCharsets.UTF_8));
    assertEquals(List.of(), outcome.details().stream().limit(20).toList());
    assertTrue(outcome.isRight());
  }

  private record Lines() implements Rounds.Progress {
    @Override
    public void begins(int round, String fault) {
      System.out.println("round " + round + ": " + fault);
    }

    @Override
    public void ended(int round, String fault, long answered, long failed, List<String> notes) {
      System.out.println("  " + answered + " answered, " + failed + " failed " + notes);
    }
  }
}
