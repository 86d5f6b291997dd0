// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.List;
import org.junit.jupiter.api.Test;

final class IpPrefixTest {
  @Test
  void of_addresses_areCutToTheirNetwork() {
    assertEquals("203.0.113.0/24", IpPrefix.of("203.0.113.9"));
    assertEquals("2001:db8:0::/48", IpPrefix.of("2001:db8::1"));
    assertEquals("0:0:0::/48", IpPrefix.of("::1"));
  }

  @Test
  void of_ipv4MappedIpv6_isTheIpv4Network() {
    assertEquals("203.0.113.0/24", IpPrefix.of("::ffff:203.0.113.9"));
    assertEquals("203.0.113.0/24", IpPrefix.of("::ffff:cb00:7109"));
  }

  @Test
  void of_anythingElse_isNull_andNoNameIsLookedUp() {
    for (String text :
        List.of(
            "",
            "localhost",
            "203.0.113",
            "203.0.113.256",
            "1.2.3.4.5",
            ":::",
            "fe80::1%eth0",
            "[::1]",
            "12345::",
            "1::2::3",
            "203.0.113.9 ")) {
      assertNull(IpPrefix.of(text), text);
    }
  }
}
