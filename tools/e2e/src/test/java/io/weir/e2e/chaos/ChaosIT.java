// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.e2e.audit.Outcome;
import io.weir.e2e.audit.Rounds;
import io.weir.testing.FullSuite;
import io.weir.testing.SuiteForm;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Injects faults into separate processes under load: one fault of each family, and in the full
 * suite all faults, a third in each of three clusters. {@code ./weir chaos} is the long form.
 */
final class ChaosIT {
  private static final List<String> ONE_OF_EACH_FAMILY =
      List.of(
          "brokers down, ingest node killed meanwhile",
          "Redis killed",
          "cut: ingest, all brokers",
          "journal's disk full, drop",
          "two faults at once");

  private static final Duration LONGEST = Duration.ofSeconds(4);
  private static final long SEED = 20_261_121;
  private static final int CALLS_PER_SECOND = SuiteForm.isFull() ? 300 : 100;

  @TempDir private Path folder;

  @Test
  void oneFaultOfEachFamily_losesAndDoublesNothing_andReportsAreRight() throws Exception {
    assertHarmless(1, ONE_OF_EACH_FAMILY);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2})
  @FullSuite(reason = "every fault, three brokers; one of each family always runs")
  void everyFault_inThirds_isHarmless(int third) throws Exception {
    List<String> all = Chaos.names(3);
    assertHarmless(
        3, IntStream.range(0, all.size()).filter(i -> i % 3 == third).mapToObj(all::get).toList());
  }

  private void assertHarmless(int brokers, List<String> faults) throws Exception {
    Outcome outcome =
        new Chaos(
                folder, brokers, CALLS_PER_SECOND, faults, LONGEST, SEED, new Lines(Instant.now()))
            .run(Duration.ZERO);

    outcome.print(new PrintWriter(System.out, true, StandardCharsets.UTF_8));
    assertEquals(List.of(), outcome.details().stream().limit(20).toList(), "seed " + SEED);
    assertTrue(outcome.isRight(), "seed " + SEED);
  }

  private record Lines(Instant begun) implements Rounds.Progress {
    @Override
    public void begins(int round, String fault) {
      long seconds = Duration.between(begun, Instant.now()).toSeconds();
      System.out.println("round " + round + ", after " + seconds + " s: " + fault);
    }

    @Override
    public void ended(int round, String fault, long answered, long failed, List<String> notes) {
      System.out.println("  " + answered + " answered, " + failed + " failed " + notes);
    }
  }
}
