// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SlotKeyTest {
  private static final IpNetwork V4 = Objects.requireNonNull(IpNetwork.parse("203.0.113.7/32"));
  private static final IpNetwork V6 = Objects.requireNonNull(IpNetwork.parse("2001:db8::/64"));

  private static BucketKey.Part part(String name) {
    return BucketKey.Part.of(name);
  }

  @Test
  void keysOfSlots_areParsed_whateverPartsTheyHave() {
    String long256 = "ü".repeat(128);
    for (String client : new String[] {"acme", "a:5:b", "@slots", "}", long256}) {
      for (IpNetwork network : new IpNetwork[] {null, V4, V6}) {
        for (BucketKey.Part endpoint : new BucketKey.Part[] {null, part("GET /v1/*"), part("|")}) {
          String text =
              BucketKey.ofSlots(
                  BucketKey.cacheOnlyText(
                      part(client), part("burst").keyText(), null, endpoint, network));
          SlotKey key = SlotKey.parse(text);
          assertEquals(new SlotKey(part(client), part("burst"), text), key);
          assertTrue(text.length() <= SlotKey.MAX_CHARS, text);
        }
      }
    }
    String shared =
        BucketKey.ofSlots(
            BucketKey.cacheOnlyText(
                null, part(long256).keyText(), part(long256), part(long256), V6));
    assertEquals(part(long256), SlotKey.parse(shared).policy());
    assertNull(SlotKey.parse(shared).client());
    String longest =
        BucketKey.ofSlots(
            BucketKey.cacheOnlyText(
                part("c".repeat(64)),
                part("p".repeat(64)).keyText(),
                part("l".repeat(64)),
                part("e".repeat(64)),
                Objects.requireNonNull(
                    IpNetwork.parse("1234:5678:1234:5678:1234:5678:1234:5678/128"))));
    assertEquals(longest, SlotKey.parse(longest).text());
    assertTrue(longest.length() <= SlotKey.MAX_CHARS);
  }

  /** All keys of slots must be parsed; otherwise each call that takes such a slot would fail. */
  @Test
  void keysOfNetworksOfAnyLength_areParsed() {
    IpAddress v4 = Objects.requireNonNull(IpAddress.parse("255.254.253.252"));
    for (String address : new String[] {"::", "ffff:1:2:3:4:5:6:7", "1:0:0:2::", "::ffff:0:1:2"}) {
      IpAddress v6 = Objects.requireNonNull(IpAddress.parse(address));
      for (int length = 0; length <= IpAddress.V6_BITS; length++) {
        assertParsed(v6.network(length));
        assertParsed(v4.network(Math.min(length, IpAddress.V4_BITS)));
      }
    }
  }

  private static void assertParsed(IpNetwork network) {
    for (BucketKey.Part client : new BucketKey.Part[] {null, part("acme")}) {
      String text =
          BucketKey.ofSlots(
              BucketKey.cacheOnlyText(client, part("burst").keyText(), null, null, network));
      assertEquals(text, SlotKey.parse(text).text());
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "@slots",
        "w1:{",
        "w1:{4:acme}:5:burst",
        "w1:{4:acme}:5:burst@log",
        "w1:{4:acme}:5:burst@1764547200",
        "w1:{4:acme}:5:burst@1764547200@slots",
        "w1:{4:acme}:5:burst@slots@slots",
        "w2:{4:acme}:5:burst@slots",
        "w1:{04:acme}:5:burst@slots",
        "w1:{4:acme}:0:@slots",
        "w1:{0:}:5:burst@slots",
        "w1:{4:acme}:-5:burst@slots",
        "w1:{4:acme}:99999999999:burst@slots",
        "w1:{4:acme}:5:burst|203.0.113.7@slots",
        "w1:{4:acme}:5:burst|203.0.113.7/33@slots",
        "w1:{4:acme}:5:burst:@slots",
        "w1:{4:acme}:5:burst 4:free@slots",
        "w1:{4:acme}5:burst@slots",
        "w1:{*5:burst@slots",
        "w1:{*5:burst}:5:other@slots",
        "w1:{h:short}:5:burst@slots",
        "w1:{h:}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}:5:burst@slots",
        "w1:@raised",
        "some:{4:acme}:5:burst@slots",
        "w1:{4:ac\u0000e}:5:burst@slots"
      })
  void otherKeys_areRefused(String text) {
    assertThrows(IllegalArgumentException.class, () -> SlotKey.parse(text));
    assertThrows(IllegalArgumentException.class, () -> SlotKey.parse(text + "x"));
  }

  @Test
  void keyOfAnyLength_isRefusedOrParsed_andNothingElse() {
    String key = "w1:{4:acme}:5:burst+4:free:2:ab|203.0.113.7/32@slots";
    for (int from = 0; from < key.length(); from++) {
      for (int to = from; to <= key.length(); to++) {
        String cut = key.substring(0, from) + key.substring(to);
        if (to > from) {
          try {
            assertEquals(cut, SlotKey.parse(cut).text());
          } catch (IllegalArgumentException refused) {
            assertTrue(
                String.valueOf(refused.getMessage())
                    .startsWith("the text is not a valid key of slots"));
          }
        }
      }
    }
  }
}
