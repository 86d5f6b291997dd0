// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import io.weir.limits.IpAddress;
import io.weir.limits.IpNetwork;

/**
 * The number of leading bits of an address that identify a caller. Immutable.
 *
 * @param ipv4 bits of an IPv4 address, 1 to 32
 * @param ipv6 bits of an IPv6 address, 1 to 128
 */
public record IpPrefix(int ipv4, int ipv6) {
  /**
   * The default for keys: a single IPv4 address, or a /64 of IPv6. A site gets at least a /64 (RFC
   * 6177), so a longer prefix would give one caller many buckets.
   */
  public static final IpPrefix OF_CALLERS = new IpPrefix(IpAddress.V4_BITS, 64);

  /**
   * The prefix for records: a /24 of IPv4, or a /48 of IPv6. A longer prefix would identify a
   * single caller.
   */
  public static final IpPrefix OF_RECORDS = new IpPrefix(24, 48);

  public IpPrefix {
    if (ipv4 < 1 || ipv4 > IpAddress.V4_BITS || ipv6 < 1 || ipv6 > IpAddress.V6_BITS) {
      throw new IllegalArgumentException(
          "prefix lengths must be 1 to 32 (IPv4) and 1 to 128 (IPv6), but are %s and %s"
              .formatted(ipv4, ipv6));
    }
  }

  /** Returns the network that contains an address. */
  public IpNetwork of(IpAddress address) {
    return address.network(address.isV4() ? ipv4 : ipv6);
  }

  /** Returns whether each network of the other prefix lies within a network of this prefix. */
  public boolean isNoNarrowerThan(IpPrefix other) {
    return ipv4 <= other.ipv4 && ipv6 <= other.ipv6;
  }
}
