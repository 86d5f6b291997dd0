// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import org.jspecify.annotations.Nullable;

/**
 * A network: all addresses that have the same prefix. Immutable.
 *
 * @param first the first address; all bits after the prefix are 0
 * @param prefixLength number of bits of the prefix: 0 to 32 for IPv4, 0 to 128 for IPv6
 */
public record IpNetwork(IpAddress first, int prefixLength) {
  private static final int MAPPED_BITS = IpAddress.V6_BITS - IpAddress.V4_BITS;
  private static final int GROUP_BITS = 16;
  private static final int GROUPS = IpAddress.V6_BITS / GROUP_BITS;

  /** Description of the format, for messages. */
  public static final String FORM =
      "an address or a network such as 203.0.113.0/24 or 2001:db8::/32";

  /**
   * Parses a network in CIDR notation (RFC 4632, RFC 4291), or a single address. For IPv4-mapped
   * addresses, the method returns the IPv4 network.
   *
   * @return the network; null if the text is not a network, or a bit after the prefix is set
   *     (usually a mistake)
   */
  public static @Nullable IpNetwork parse(String text) {
    int slash = text.indexOf('/');
    String addressText = slash < 0 ? text : text.substring(0, slash);
    IpAddress address = IpAddress.parse(addressText);
    if (address == null) {
      return null;
    }
    if (slash < 0) {
      return address.network(address.bits());
    }
    int length = length(text.substring(slash + 1));
    if (address.isV4() && addressText.indexOf(':') >= 0) {
      length -= MAPPED_BITS;
    }
    if (length < 0 || length > address.bits()) {
      return null;
    }
    IpNetwork network = address.network(length);
    return network.first.equals(address) ? network : null;
  }

  /** Returns the prefix length; −1 if the text is not a number without leading zeros. */
  private static int length(String text) {
    if (!text.matches("0|[1-9]\\d{0,2}")) {
      return -1;
    }
    return Integer.parseInt(text);
  }

  /** Returns whether this network contains an address. */
  public boolean contains(IpAddress address) {
    return address.isV4() == first.isV4() && address.network(prefixLength).first.equals(first);
  }

  /** Returns whether this network contains all addresses of another network. */
  public boolean contains(IpNetwork other) {
    return other.prefixLength >= prefixLength && contains(other.first);
  }

  /**
   * Returns the network in CIDR notation, such as {@code 203.0.113.0/24} or {@code
   * 2001:db8:0::/48}.
   */
  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    if (first.isV4()) {
      for (int shift = IpAddress.V4_BITS - Byte.SIZE; shift >= 0; shift -= Byte.SIZE) {
        text.append(first.low() >>> shift & 0xff).append(shift == 0 ? '/' : '.');
      }
      return text.append(prefixLength).toString();
    }
    int groups = (prefixLength + GROUP_BITS - 1) / GROUP_BITS;
    for (int group = 0; group < groups; group++) {
      long half = group < GROUPS / 2 ? first.high() : first.low();
      int shift = Long.SIZE - GROUP_BITS * (1 + group % (GROUPS / 2));
      text.append(group == 0 ? "" : ":").append(Long.toHexString(half >>> shift & 0xffff));
    }
    return text.append(groups == GROUPS ? "/" : "::/").append(prefixLength).toString();
  }
}
