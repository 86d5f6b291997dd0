// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.weir.topics.model.UsageCount;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageState;
import io.weir.topics.model.UsageWindow;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests keys. A tombstone has only a key, which identifies the erased figures. */
final class UsageStateKeyTest {
  @ParameterizedTest
  @ValueSource(strings = {"acme", "a/b", "a%2Fb", "a+b c", "@others", "müller", "~*'()", "%"})
  void key_saysTheNamesAndTheWindow(String name) throws MalformedRecordException {
    for (UsageKey key :
        new UsageKey[] {
          new UsageKey(name, "calls", "GET /a"),
          new UsageKey("c", name, name),
          UsageKey.others(name, "calls")
        }) {
      UsageState state =
          new UsageState(
              key,
              new UsageWindow(900_000, 1_800_000),
              UsageState.Status.FINAL,
              1,
              UsageCount.ZERO,
              true);

      assertEquals(
          new UsageStateCodec.Row(key, 900_000),
          UsageStateCodec.decodeKey(UsageStateCodec.key(state)));
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "acme",
        "@progress/00003",
        "a/calls/-/12",
        "a/calls/-/00000000000900x",
        "a/calls/-/x/000000000900000",
        "/calls/-/000000000900000",
        "%zz/calls/-/000000000900000"
      })
  void otherKey_isRefused(String key) {
    assertThrows(MalformedRecordException.class, () -> UsageStateCodec.decodeKey(key));
  }

  @Test
  void endpointOther_isNotThatOfOthers() throws MalformedRecordException {
    assertEquals(
        new UsageKey("a", "calls", "other"),
        UsageStateCodec.decodeKey("a/calls/other/000000000900000").key());
  }
}
