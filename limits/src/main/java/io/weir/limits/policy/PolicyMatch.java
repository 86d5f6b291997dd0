// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import io.weir.limits.IpNetwork;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The calls to which a policy applies. Each list of patterns contains names in which {@code *}
 * stands for any run of characters, including an empty one; at least one pattern must match. An
 * empty list, or an empty map, matches everything. Immutable.
 *
 * @param client patterns of the client
 * @param endpoint patterns of the endpoint, in which {@code {name}} stands for one segment of a
 *     path as well
 * @param meter patterns of the meter
 * @param ip networks of which one must contain the caller's address; a call that gives none does
 *     not match
 * @param attributes patterns of each attribute's value, by the attribute's name; a call that does
 *     not have all of these attributes does not match
 */
public record PolicyMatch(
    List<String> client,
    List<String> endpoint,
    List<String> meter,
    List<IpNetwork> ip,
    Map<String, List<String>> attributes) {
  /** Matches every call. */
  public static final PolicyMatch ANY = new PolicyMatch(List.of(), List.of(), List.of());

  /**
   * The attribute that tells the domain of a descriptor. Of the policies that look at it only the
   * most specific ones apply to a call.
   */
  public static final String DESCRIPTOR_DOMAIN = "envoy.domain";

  /** The meter that counts calls; every other meter counts something that a call used. */
  public static final String METER_OF_CALLS = "calls";

  public PolicyMatch {
    client = List.copyOf(client);
    endpoint = List.copyOf(endpoint);
    meter = List.copyOf(meter);
    ip = List.copyOf(ip);
    Map<String, List<String>> copies = new HashMap<>();
    attributes.forEach((name, patterns) -> copies.put(name, List.copyOf(patterns)));
    attributes = Map.copyOf(copies);
  }

  /** Matches calls from anywhere, whatever their attributes. */
  public PolicyMatch(List<String> client, List<String> endpoint, List<String> meter) {
    this(client, endpoint, meter, List.of(), Map.of());
  }

  /** Returns the same without the conditions on addresses and attributes. */
  public PolicyMatch ofNames() {
    return new PolicyMatch(client, endpoint, meter);
  }

  /** Returns whether the policy is written for descriptors: it looks at their domain. */
  public boolean isOfDescriptors() {
    return attributes.containsKey(DESCRIPTOR_DOMAIN);
  }
}
