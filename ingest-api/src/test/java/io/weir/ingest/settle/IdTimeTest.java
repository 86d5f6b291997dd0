// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.UUID;
import org.junit.jupiter.api.Test;

/** Which ids contain a time. */
final class IdTimeTest {
  @Test
  void timeOf_isReadFromUuidsOfVersion7Only() {
    long now = 1_763_690_400_000L;
    String ours = new UUID((now << 16) | 0x7abcL, 0x8000000000000001L).toString();

    assertEquals(now, IdTime.of(ours));
    assertEquals(-1, IdTime.of(UUID.nameUUIDFromBytes(new byte[] {1}).toString()));
    assertEquals(-1, IdTime.of("zzzzzzzz-zzzz-7zzz-8zzz-zzzzzzzzzzzz"));
    assertEquals(-1, IdTime.of(""));
  }
}
