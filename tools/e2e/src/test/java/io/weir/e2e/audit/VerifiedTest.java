// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.audit;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class VerifiedTest {
  private static final String OF_ONE =
      "UNPROVEN partition 0 may lack calls: node ingest-1, epoch 7";
  private static final String OF_TWO =
      "UNPROVEN partition 0 may lack calls: node ingest-2, epoch 8";
  private static final Set<String> DOUBTFUL = Set.of("ingest-1");

  @Test
  void noDifference_andProven_isRight() {
    assertTrue(Verified.of(0, List.of("0 differences")).isRight(Set.of()));
  }

  @Test
  void unproven_isRightOnlyOfNodesThatHaveLostADisk() {
    assertTrue(Verified.of(3, List.of(OF_ONE, "0 differences")).isRight(DOUBTFUL));
    assertFalse(Verified.of(3, List.of(OF_ONE)).isRight(Set.of()));
    assertFalse(Verified.of(3, List.of(OF_ONE, OF_TWO)).isRight(DOUBTFUL));
    assertFalse(Verified.of(3, List.of("nothing is said")).isRight(DOUBTFUL));
  }

  @Test
  void difference_isNeverRight() {
    assertFalse(Verified.of(1, List.of(OF_ONE)).isRight(DOUBTFUL));
  }
}
