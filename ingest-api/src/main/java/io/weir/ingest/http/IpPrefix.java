// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The network of an address at the precision that is recorded: /24 of IPv4, /48 of IPv6. An
 * IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2) counts as the IPv4 address that it maps, so that one
 * caller is not two. Host names are never resolved.
 */
final class IpPrefix {
  private static final String OCTET = "(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
  private static final Pattern IPV4 = Pattern.compile(OCTET + "(\\." + OCTET + "){3}");
  private static final Pattern IPV6 =
      Pattern.compile("[0-9a-fA-F:]{2,39}(" + OCTET + "(\\." + OCTET + "){3})?");
  private static final int IPV6_PREFIX_GROUPS = 3;

  private IpPrefix() {}

  /** Returns the prefix in CIDR notation, or null if the text is not an address. */
  static @Nullable String of(String text) {
    boolean literal =
        IPV4.matcher(text).matches() || (text.contains(":") && IPV6.matcher(text).matches());
    if (!literal) {
      return null;
    }
    try {
      InetAddress address = InetAddress.getByName(text);
      byte[] bytes = address.getAddress();
      if (address instanceof Inet4Address) {
        return (bytes[0] & 0xff) + "." + (bytes[1] & 0xff) + "." + (bytes[2] & 0xff) + ".0/24";
      }
      StringBuilder prefix = new StringBuilder(20);
      for (int group = 0; group < IPV6_PREFIX_GROUPS; group++) {
        int value = (bytes[2 * group] & 0xff) << 8 | (bytes[2 * group + 1] & 0xff);
        prefix.append(Integer.toHexString(value)).append(':');
      }
      return prefix.append(":/48").toString();
    } catch (UnknownHostException notAnAddress) {
      return null;
    }
  }
}
