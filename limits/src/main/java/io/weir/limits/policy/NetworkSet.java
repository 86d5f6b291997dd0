// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import io.weir.limits.IpAddress;
import io.weir.limits.IpNetwork;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * A set of networks for fast look-up. A search for an address takes one hash look-up per distinct
 * prefix length, whatever the number of networks. Immutable.
 */
final class NetworkSet {
  private final List<OfLength> ipv4;
  private final List<OfLength> ipv6;

  /** The networks of one prefix length; each network is stored as its first address. */
  private record OfLength(int prefixLength, Set<IpAddress> first) {}

  NetworkSet(List<IpNetwork> networks) {
    this.ipv4 = byLength(networks, true);
    this.ipv6 = byLength(networks, false);
  }

  private static List<OfLength> byLength(List<IpNetwork> networks, boolean isV4) {
    Map<Integer, Set<IpAddress>> byLength = new TreeMap<>();
    for (IpNetwork network : networks) {
      if (network.first().isV4() == isV4) {
        byLength
            .computeIfAbsent(network.prefixLength(), length -> new HashSet<>())
            .add(network.first());
      }
    }
    List<OfLength> all = new ArrayList<>();
    byLength.forEach((length, first) -> all.add(new OfLength(length, first)));
    return all;
  }

  /** Returns whether a network of the set contains an address. */
  boolean contains(IpAddress address) {
    for (OfLength each : address.isV4() ? ipv4 : ipv6) {
      if (each.first.contains(address.network(each.prefixLength).first())) {
        return true;
      }
    }
    return false;
  }
}
