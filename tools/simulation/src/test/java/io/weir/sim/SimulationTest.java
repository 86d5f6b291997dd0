// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.testing.SuiteForm;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

final class SimulationTest {
  private static final int SEEDS = SuiteForm.isFull() ? 2_400 : 100;
  private static final int REPEATED_SEEDS = 3;

  /** Far more than any mutant needs, see docs/testing.md. */
  private static final int MOST_SEEDS_FOR_A_MUTANT = 400;

  /** The first seed that finds each mutant that few seeds find. The search begins with it. */
  private static final Map<Mutant, Long> RARELY_FOUND =
      Map.of(
          Mutant.GAPS_KEPT_BACK, 53L,
          Mutant.WARM_AT_ONCE, 80L,
          Mutant.DENIAL_KEPT, 89L,
          Mutant.DENIAL_NOTED_LATE, 143L,
          Mutant.FORGET_SUB_WINDOWS, 192L,
          Mutant.CHANGED_LIMIT_FILLS, 302L);

  @BeforeAll
  static void silence() {
    SimCommand.silence();
  }

  @Test
  void manySeeds_breakNoInvariant() {
    assertHold(1, SEEDS);
  }

  private static void assertHold(long firstSeed, long lastSeed) {
    List<Simulation.Outcome> broken =
        LongStream.rangeClosed(firstSeed, lastSeed)
            .parallel()
            .mapToObj(Simulation::run)
            .filter(outcome -> !outcome.isGood())
            .toList();

    assertEquals(List.of(), broken, "repeat with ./weir sim --seed S --trace");
  }

  /** A restarted node's clock is behind the low watermark in its journal. */
  @Test
  void restartBehindTheJournalsWatermark_breaksNoPromise() {
    assertHold(380012104, 380012104);
  }

  @Test
  void sameSeed_sameTrace() {
    for (long seed = 1; seed <= REPEATED_SEEDS; seed++) {
      Simulation.Outcome once = Simulation.run(seed);
      List<String> lines = new ArrayList<>();
      Simulation.Outcome again = Simulation.run(seed, Mutant.NONE, lines::add);

      assertEquals(once, again);
      assertTrue(lines.size() > again.steps(), "listening changes nothing and hears all");
      assertNotEquals(once.traceHash(), Simulation.run(seed + 1).traceHash());
    }
  }

  @ParameterizedTest
  @EnumSource(value = Mutant.class, names = "NONE", mode = EnumSource.Mode.EXCLUDE)
  void mutant_isFound(Mutant mutant) {
    long first = SuiteForm.isFull() ? 1 : RARELY_FOUND.getOrDefault(mutant, 1L);
    boolean found =
        LongStream.range(first, first + MOST_SEEDS_FOR_A_MUTANT)
            .anyMatch(seed -> !Simulation.run(seed, mutant, null).isGood());

    assertTrue(found, mutant + ": " + mutant.bug());
  }

  @Test
  void failure_namesSeedStepAndInvariant() {
    Simulation.Outcome outcome = Simulation.run(1, Mutant.FORGET_CALLER_IDS, null);

    assertEquals(1, outcome.seed());
    assertTrue(outcome.steps() > 0);
    assertTrue(String.valueOf(outcome.broken()).startsWith("billed: "), outcome.broken());
    assertNull(Simulation.run(1).broken());
  }
}
