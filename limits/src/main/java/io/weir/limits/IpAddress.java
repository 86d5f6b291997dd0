// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * An IPv4 or IPv6 address. An IPv4-mapped IPv6 address (RFC 4291, 2.5.5.2) is stored as its IPv4
 * address, because both addresses identify the same caller. Immutable.
 *
 * @param isV4 whether the address is an IPv4 address
 * @param high the first 64 bits of an IPv6 address; 0 for IPv4
 * @param low the last 64 bits of an IPv6 address; the 32 bits of an IPv4 address
 */
public record IpAddress(boolean isV4, long high, long low) {
  /** Bits of an IPv4 address. */
  public static final int V4_BITS = 32;

  /** Bits of an IPv6 address. */
  public static final int V6_BITS = 128;

  private static final Pattern IPV4 =
      Pattern.compile(
          "(0|[1-9]\\d{0,2})\\.(0|[1-9]\\d{0,2})\\.(0|[1-9]\\d{0,2})\\.(0|[1-9]\\d{0,2})");
  private static final Pattern GROUP = Pattern.compile("[0-9a-fA-F]{1,4}");
  private static final int GROUPS = 8;
  private static final int GROUP_BITS = 16;
  private static final int HEXADECIMAL = 16;
  private static final int MAX_OCTET = 255;
  private static final long MAPPED = 0xffffL << 32;
  private static final long LOW_32 = 0xffff_ffffL;

  /**
   * Maximum length of an address as text. The longest text is an IPv6 address that ends with an
   * IPv4 address.
   */
  private static final int MAX_CHARS = 45;

  /**
   * Parses an address: four decimal numbers without leading zeros, or a form of RFC 4291, 2.2. Host
   * names and zone ids are not accepted. The method sends no DNS query.
   *
   * @return the address, or null if the text is not an address
   */
  public static @Nullable IpAddress parse(String text) {
    if (text.length() > MAX_CHARS) {
      return null;
    }
    if (text.indexOf(':') >= 0) {
      return parseV6(text);
    }
    long bits = parseV4(text);
    return bits < 0 ? null : new IpAddress(true, 0, bits);
  }

  /** Returns the 32 bits of an IPv4 address; −1 if the text is not an IPv4 address. */
  private static long parseV4(String text) {
    Matcher octets = IPV4.matcher(text);
    if (!octets.matches()) {
      return -1;
    }
    long bits = 0;
    for (int i = 1; i <= octets.groupCount(); i++) {
      int octet = Integer.parseInt(octets.group(i));
      if (octet > MAX_OCTET) {
        return -1;
      }
      bits = bits << Byte.SIZE | octet;
    }
    return bits;
  }

  private static @Nullable IpAddress parseV6(String text) {
    String hex = withoutV4Tail(text);
    if (hex == null) {
      return null;
    }
    int gap = hex.indexOf("::");
    if (gap >= 0 && hex.indexOf("::", gap + 1) >= 0) {
      return null;
    }
    List<String> before = groups(gap < 0 ? hex : hex.substring(0, gap));
    List<String> after = groups(gap < 0 ? "" : hex.substring(gap + 2));
    int given = before.size() + after.size();
    if (gap < 0 ? given != GROUPS : given >= GROUPS) {
      return null;
    }
    long[] halves = new long[2];
    for (int i = 0; i < given; i++) {
      boolean isBefore = i < before.size();
      String group = isBefore ? before.get(i) : after.get(i - before.size());
      if (!GROUP.matcher(group).matches()) {
        return null;
      }
      int at = isBefore ? i : GROUPS - given + i;
      int shift = Long.SIZE - GROUP_BITS * (1 + at % (GROUPS / 2));
      halves[at / (GROUPS / 2)] |= Long.parseLong(group, HEXADECIMAL) << shift;
    }
    return halves[0] == 0 && (halves[1] & ~LOW_32) == MAPPED
        ? new IpAddress(true, 0, halves[1] & LOW_32)
        : new IpAddress(false, halves[0], halves[1]);
  }

  /**
   * Replaces an IPv4 address at the end of the text with two groups. Returns null if the last group
   * contains a dot but is not an IPv4 address.
   */
  private static @Nullable String withoutV4Tail(String text) {
    if (text.indexOf('.') < 0) {
      return text;
    }
    int last = text.lastIndexOf(':') + 1;
    long bits = parseV4(text.substring(last));
    return bits < 0
        ? null
        : text.substring(0, last)
            + Long.toHexString(bits >>> GROUP_BITS)
            + ':'
            + Long.toHexString(bits & 0xffff);
  }

  private static List<String> groups(String text) {
    return text.isEmpty() ? List.of() : List.of(text.split(":", -1));
  }

  /** Returns the number of bits of the address: 32 or 128. */
  public int bits() {
    return isV4 ? V4_BITS : V6_BITS;
  }

  /**
   * Returns the network that contains the address.
   *
   * @param prefixLength bits that the addresses of the network share, 0 to {@link #bits}
   */
  public IpNetwork network(int prefixLength) {
    if (prefixLength < 0 || prefixLength > bits()) {
      throw new IllegalArgumentException(
          "prefix length must be between 0 and " + bits() + ", but is " + prefixLength);
    }
    IpAddress first =
        isV4
            ? new IpAddress(true, 0, low & mask(prefixLength + V4_BITS) & LOW_32)
            : new IpAddress(
                false,
                high & mask(Math.min(prefixLength, Long.SIZE)),
                low & mask(Math.max(prefixLength - Long.SIZE, 0)));
    return new IpNetwork(first, prefixLength);
  }

  /** Returns a number in which only the first {@code ones} bits are set. */
  private static long mask(int ones) {
    return ones == 0 ? 0 : -1L << (Long.SIZE - ones);
  }
}
