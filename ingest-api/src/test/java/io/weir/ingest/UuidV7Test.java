// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.HashSet;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;

final class UuidV7Test {
  @Test
  void next_holdsTimeVersionAndVariant() {
    UuidV7 ids = new UuidV7(Clock.fixed(Instant.ofEpochMilli(1_763_690_401_234L), ZoneOffset.UTC));

    UUID id = UUID.fromString(ids.next());

    assertEquals(1_763_690_401_234L, id.getMostSignificantBits() >>> 16);
    assertEquals(7, id.version());
    assertEquals(2, id.variant());
  }

  @Test
  void next_inOneMillisecond_neverRepeats() {
    UuidV7 ids = new UuidV7(Clock.fixed(Instant.EPOCH, ZoneOffset.UTC));
    Set<String> seen = new HashSet<>();
    for (int i = 0; i < 100_000; i++) {
      seen.add(ids.next());
    }
    assertEquals(100_000, seen.size());
  }
}
