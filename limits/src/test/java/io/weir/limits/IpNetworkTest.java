// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.limits.policy.IpPrefix;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class IpNetworkTest {
  private static final int SEEDS = 2_000;

  private static IpAddress address(String text) {
    IpAddress address = IpAddress.parse(text);
    assertNotNull(address, text);
    return address;
  }

  private static IpNetwork network(String text) {
    IpNetwork network = IpNetwork.parse(text);
    assertNotNull(network, text);
    return network;
  }

  private static String recorded(String text) {
    return IpPrefix.OF_RECORDS.of(address(text)).toString();
  }

  @Test
  void ofRecords_addresses_areCutToTheirNetwork() {
    assertEquals("203.0.113.0/24", recorded("203.0.113.9"));
    assertEquals("2001:db8:0::/48", recorded("2001:db8::1"));
    assertEquals("0:0:0::/48", recorded("::1"));
  }

  @Test
  void ofCallers_areOneIpv4Address_andAnIpv6SiteOf64Bits() {
    assertEquals("203.0.113.9/32", IpPrefix.OF_CALLERS.of(address("203.0.113.9")).toString());
    assertEquals(
        "2001:db8:0:7::/64", IpPrefix.OF_CALLERS.of(address("2001:db8:0:7:1:2:3:4")).toString());
    assertEquals(
        "2001:db8:1:200::/56", new IpPrefix(24, 56).of(address("2001:db8:1:2ff::1")).toString());
  }

  @Test
  void ipv4MappedIpv6_isTheIpv4Address_andItsNetworksAre() {
    assertEquals(address("203.0.113.9"), address("::ffff:203.0.113.9"));
    assertEquals(address("203.0.113.9"), address("::ffff:cb00:7109"));
    assertEquals(network("203.0.113.0/24"), network("::ffff:203.0.113.0/120"));
    assertNull(IpNetwork.parse("::ffff:203.0.113.0/95"));
  }

  @Test
  void anythingElse_isNoAddress_andNoNameIsLookedUp() {
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
      assertNull(IpAddress.parse(text), text);
      assertNull(IpNetwork.parse(text), text);
    }
  }

  @Test
  void whatIsNoNetwork_isNull() {
    for (String text :
        List.of(
            "203.0.113.0/33",
            "203.0.113.0/-1",
            "203.0.113.0/",
            "203.0.113.0/024",
            "203.0.113.0/24/8",
            "203.0.113.9/24",
            "2001:db8::1/32",
            "2001:db8::/129",
            "/24")) {
      assertNull(IpNetwork.parse(text), text);
    }
    assertThrows(IllegalArgumentException.class, () -> address("::1").network(129));
    assertThrows(IllegalArgumentException.class, () -> address("1.2.3.4").network(33));
  }

  @Test
  void contains_theWholeOfAVersion_atLengthZero_andNeverTheOther() {
    assertTrue(network("0.0.0.0/0").contains(address("203.0.113.9")));
    assertTrue(network("::/0").contains(address("2001:db8::1")));
    assertFalse(network("0.0.0.0/0").contains(address("::1")));
    assertFalse(network("::/0").contains(address("203.0.113.9")));
    assertTrue(network("10.0.0.0/8").contains(network("10.1.0.0/16")));
    assertFalse(network("10.1.0.0/16").contains(network("10.0.0.0/8")));
  }

  /** Compares the parser with the Java platform, for valid and damaged texts of addresses. */
  @Test
  void randomTexts_areReadAsThePlatformDoes() throws Exception {
    int good = 0;
    for (long seed = 1; seed <= 10 * SEEDS; seed++) {
      Random random = new Random(seed);
      StringBuilder text = new StringBuilder();
      for (int n = 1 + random.nextInt(8); n > 0; n--) {
        text.append(List.of("0", "1", "ffff", "abc", "", "00a1", "f").get(random.nextInt(7)));
        text.append(random.nextInt(8) == 0 ? "::" : ":");
      }
      text.append(List.of("1", "", "1.2.3.4", ":", "255.255.255.255").get(random.nextInt(5)));
      byte[] expected;
      try {
        expected = InetAddress.getByName(text.toString()).getAddress();
      } catch (UnknownHostException none) {
        assertNull(IpAddress.parse(text.toString()), text.toString());
        continue;
      }
      IpAddress read = address(text.toString());
      assertEquals(expected.length == 4, read.isV4(), text.toString());
      assertEquals(new BigInteger(1, expected), number(read), text.toString());
      good++;
    }
    assertTrue(good > SEEDS / 10, "too few to tell: " + good);
  }

  /** Compares with arithmetic on BigInteger. */
  @Test
  void randomAddresses_networksAreAsByArithmetic() throws Exception {
    for (long seed = 1; seed <= SEEDS; seed++) {
      Random random = new Random(seed);
      byte[] bytes = new byte[random.nextBoolean() ? 4 : 16];
      random.nextBytes(bytes);
      if (random.nextInt(3) == 0) {
        Arrays.fill(bytes, bytes.length / 2, bytes.length, (byte) random.nextInt(2));
      }
      IpAddress address = address(InetAddress.getByAddress(bytes).getHostAddress());
      int length = random.nextInt(address.bits() + 1);
      BigInteger first =
          new BigInteger(1, bytes)
              .shiftRight(address.bits() - length)
              .shiftLeft(address.bits() - length);
      IpNetwork network = address.network(length);
      String where = "seed " + seed + ": " + network;
      assertEquals(first, number(network.first()), where);
      assertEquals(network, IpNetwork.parse(network.toString()), where);
      assertTrue(network.contains(address), where);
      if (length > 0) {
        IpAddress beyond = flipped(bytes, random.nextInt(length));
        assertFalse(network.contains(beyond), where);
      }
    }
  }

  private static IpAddress flipped(byte[] bytes, int bit) throws Exception {
    byte[] other = bytes.clone();
    other[bit / 8] ^= (byte) (0x80 >> bit % 8);
    return address(InetAddress.getByAddress(other).getHostAddress());
  }

  private static BigInteger number(IpAddress address) {
    BigInteger low = new BigInteger(Long.toUnsignedString(address.low()));
    return new BigInteger(Long.toUnsignedString(address.high())).shiftLeft(64).add(low);
  }
}
