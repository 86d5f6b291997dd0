// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.SlotClaim;
import io.weir.limits.SlotKey;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class SlotTokenTest {
  private static final SlotClaim CLAIM = SlotClaim.of("acme", "7").until(1_800_000_000_000_000L);
  private static final SlotKey OWN = SlotKey.parse("w1:{4:acme}:7:reports@slots");
  private static final SlotKey SHARED = SlotKey.parse("w1:{*7:exports}@slots");

  /** A token's bytes, whatever they name. */
  private static String forged(int version, String holder, long until, int count, String... keys) {
    ByteBuffer buffer = ByteBuffer.allocate(100_000);
    buffer.put((byte) version).put(holder.getBytes(StandardCharsets.ISO_8859_1));
    buffer.putLong(until).put((byte) count);
    for (String key : keys) {
      byte[] bytes = key.getBytes(StandardCharsets.UTF_8);
      buffer.putShort((short) bytes.length).put(bytes);
    }
    byte[] bytes = new byte[buffer.position()];
    buffer.flip().get(bytes);
    return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
  }

  private static String forged(String... keys) {
    return forged(1, CLAIM.holder(), 1, keys.length, keys);
  }

  private static void assertRefused(String text) {
    IllegalArgumentException refused =
        assertThrows(IllegalArgumentException.class, () -> SlotToken.parse(text));
    assertTrue(String.valueOf(refused.getMessage()).startsWith("must "), refused::getMessage);
  }

  @Test
  void token_isParsedAsItWasWritten() {
    SlotToken token = new SlotToken(CLAIM, List.of(OWN, SHARED));
    assertEquals(token, SlotToken.parse(token.text()));
    assertEquals(
        token.until(5),
        SlotToken.parse(forged(1, CLAIM.holder(), 5, 2, OWN.text(), SHARED.text())));
    assertTrue(token.text().matches("[A-Za-z0-9_-]+"));
  }

  @Test
  void longestToken_fits() {
    List<SlotKey> keys = new ArrayList<>();
    for (int i = 10; i < 26; i++) {
      String rest = "c".repeat(62) + i;
      String key =
          "w1:{64:"
              + "c".repeat(64)
              + "}:64:"
              + rest
              + "+64:"
              + rest
              + ":64:"
              + rest
              + "|1234:5678:1234:5678:1234:5678:1234:5678/128@slots";
      keys.add(SlotKey.parse(key));
    }
    String text = new SlotToken(CLAIM, keys).text();
    assertTrue(text.length() <= SlotToken.MAX_CHARS, () -> "characters " + text.length());
    assertEquals(16, SlotToken.parse(text).keys().size());
  }

  @Test
  void tokensOfOtherKeys_areRefused() {
    assertRefused(forged("w1:{4:acme}:7:monthly@1764547200"));
    assertRefused(forged("w1:{4:acme}:5:burst"));
    assertRefused(forged("w1:{4:acme}:5:audit@log"));
    assertRefused(forged("users"));
    assertRefused(forged("users@slots"));
    assertRefused(forged(OWN.text(), "w1:{6:globex}:7:reports@slots"));
    assertRefused(forged(OWN.text(), OWN.text()));
    assertRefused(forged(OWN.text() + "\n"));
  }

  @Test
  void malformedTokens_areRefused() {
    String good = forged(OWN.text());
    assertEquals(1, SlotToken.parse(good).keys().size());
    assertRefused("");
    assertRefused("a");
    assertRefused("not a token");
    assertRefused(good + "=");
    assertRefused(good + "AAAA");
    assertRefused("x".repeat(SlotToken.MAX_CHARS));
    assertRefused("A".repeat(1 << 20));
    for (int end = 0; end < good.length(); end++) {
      assertRefused(good.substring(0, end));
    }
    // of an older or a newer version
    assertRefused(forged(0, CLAIM.holder(), 1, 1, OWN.text()));
    assertRefused(forged(2, CLAIM.holder(), 1, 1, OWN.text()));
    assertRefused(forged(1, "*".repeat(32), 1, 1, OWN.text()));
    assertRefused(forged(1, CLAIM.holder(), -1, 1, OWN.text()));
    assertRefused(forged(1, CLAIM.holder(), Long.MAX_VALUE, 1, OWN.text()));
    assertRefused(forged(1, CLAIM.holder(), 1, 0));
    assertRefused(forged(1, CLAIM.holder(), 1, -1, OWN.text()));
    assertRefused(forged(1, CLAIM.holder(), 1, 2, OWN.text()));
    String[] seventeen = new String[17];
    for (int i = 0; i < 17; i++) {
      seventeen[i] = "w1:{4:acme}:2:" + (10 + i) + "@slots";
    }
    assertRefused(forged(seventeen));
  }

  @Test
  void changedBytes_makeAnotherToken_orNone() {
    byte[] good = Base64.getUrlDecoder().decode(forged(OWN.text(), SHARED.text()));
    Random random = new Random(1);
    int refused = 0;
    for (int i = 0; i < 20_000; i++) {
      byte[] bytes = good.clone();
      bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
      String text = Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
      try {
        SlotToken.parse(text).keys().forEach(key -> assertEquals(key, SlotKey.parse(key.text())));
      } catch (IllegalArgumentException none) {
        refused++;
        assertFalse(String.valueOf(none.getMessage()).contains("acme"));
      }
    }
    assertTrue(refused > 10_000, "refused " + refused);
  }
}
