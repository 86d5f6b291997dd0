// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.authz;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.weir.limits.IpAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class ForwardedForTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "1 | 203.0.113.7                         | 203.0.113.7",
        "1 | 198.51.100.1, 203.0.113.7           | 203.0.113.7",
        "2 | 198.51.100.1, 203.0.113.7           | 198.51.100.1",
        "2 | 10.0.0.1,198.51.100.1,203.0.113.7   | 198.51.100.1",
        "2 | 198.51.100.1 & 203.0.113.7          | 198.51.100.1",
        "3 | 1.1.1.1 & 198.51.100.1, 203.0.113.7 | 1.1.1.1",
        "1 | 203.0.113.7:4711                    | 203.0.113.7",
        "1 | [2001:db8::1]:4711                  | 2001:db8::1",
        "1 | 2001:db8::1                         | 2001:db8::1",
        "1 | ::ffff:203.0.113.7                  | 203.0.113.7",
      })
  void address_isCountedFromTheRight(int hops, String fields, String address) {
    assertEquals(IpAddress.parse(address), ForwardedFor.address(values(fields), hops));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "0 | 203.0.113.7",
        "2 | 203.0.113.7",
        "1 | 203.0.113.7,",
        "1 | 203.0.113.7, unknown",
        "2 | 203.0.113.7, , 198.51.100.1",
        "1 | [2001:db8::1",
        "1 | ''",
      })
  void address_thatNoTrustedHopHasAdded_isNone(int hops, String fields) {
    assertNull(ForwardedFor.address(values(fields), hops));
  }

  @Test
  void address_ofNoField_isNone() {
    assertNull(ForwardedFor.address(List.of(), 1));
  }

  @Test
  void address_isTheHops_whateverTheCallerPutsInFront() {
    IpAddress seen = IpAddress.parse("203.0.113.7");
    for (long seed = 1; seed <= 5_000; seed++) {
      Random random = new Random(seed);
      List<String> fields = new ArrayList<>();
      for (int left = random.nextInt(3); left > 0; left--) {
        fields.add(RandomBytes.text(random, 30));
      }
      fields.add(RandomBytes.text(random, 30) + ", 203.0.113.7");

      assertEquals(seen, ForwardedFor.address(fields, 1), "seed " + seed);
    }
  }

  private static List<String> values(String fields) {
    return List.of(fields.split(" & ", -1));
  }
}
