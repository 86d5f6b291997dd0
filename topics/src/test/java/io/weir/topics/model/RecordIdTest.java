// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.util.UUID;
import org.junit.jupiter.api.Test;

final class RecordIdTest {
  @Test
  void of_aKey_isANameBasedUuidThatNeverChanges() {
    UUID id = UUID.fromString(RecordId.of("acme", "calls", "-", "0", "900000", "1"));

    assertEquals(5, id.version());
    assertEquals(2, id.variant());
    assertEquals("6bd28374-9fef-5e9b-a810-2d02b981d03b", id.toString());
  }

  @Test
  void of_keysJoinedWithoutEscaping_differ() {
    assertNotEquals(RecordId.of("ab", "c"), RecordId.of("a", "bc"));
    assertNotEquals(RecordId.of("a", ""), RecordId.of("a"));
  }
}
