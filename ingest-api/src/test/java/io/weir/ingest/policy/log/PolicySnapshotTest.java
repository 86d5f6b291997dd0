// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class PolicySnapshotTest {
  @TempDir private Path folder;

  private static PolicyLogState state() throws Exception {
    return PolicyLogState.EMPTY.after(
        List.of(PolicyLogFixture.entry("p", 1, 1, PolicyLogFixture.bucket("p", 5))));
  }

  /** Regression: a flipped bit in a digit of the file changed a limit silently. */
  @Test
  void flippedBit_isNoticed_orChangesNothing() throws Exception {
    PolicyLogState state = state();
    new PolicySnapshot(folder).replace(state);
    Path file = folder.resolve(PolicySnapshot.FILE);
    byte[] good = Files.readAllBytes(file);
    int noticed = 0;
    for (int at = 0; at < good.length; at++) {
      byte[] flipped = good.clone();
      flipped[at] ^= 1;
      Files.write(file, flipped);
      PolicyLogState read = new PolicySnapshot(folder).state();
      noticed += read == null ? 1 : 0;
      if (read != null) {
        assertEquals(state.set(0), read.set(0), "flipped at " + at);
      }
    }
    assertTrue(noticed > good.length / 2, noticed + " of " + good.length);
  }

  @Test
  void snapshot_withoutAChecksum_isDamaged() throws Exception {
    new PolicySnapshot(folder).replace(state());
    Path file = folder.resolve(PolicySnapshot.FILE);
    String text = Files.readString(file, StandardCharsets.UTF_8);
    Files.writeString(file, text.substring(0, text.lastIndexOf(',')) + "}");

    assertNull(new PolicySnapshot(folder).state());
  }
}
