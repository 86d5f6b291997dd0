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

/** Each fault once, on separate processes under load; {@code ./weir chaos} is the long form. */
@Timeout(1_200)
final class ChaosIT {
  @TempDir private Path folder;

  @Test
  void everyFault_losesNothing_doublesNothing_andIsReportedRightly() throws Exception {
    Chaos chaos =
        new Chaos(
            folder,
            List.of(),
            Duration.ofSeconds(4),
            20_261_121,
            (round, fault) -> System.out.println("round " + round + ": " + fault));
    Chaos.Outcome outcome = chaos.run(Duration.ZERO);

    outcome.print(new PrintWriter(System.out, true, StandardCharsets.UTF_8));
    assertEquals(List.of(), outcome.details().stream().limit(20).toList());
    assertTrue(outcome.isRight());
  }
}
