// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import io.weir.limits.IpNetwork;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The conditions under which a policy applies to a call. In a pattern, {@code *} matches any
 * sequence of characters, including an empty sequence. At least one pattern of each list must
 * match. An empty list or map matches every call. Immutable.
 *
 * @param client patterns of the client
 * @param endpoint patterns of the endpoint, in which {@code {name}} also matches one segment of a
 *     path
 * @param meter patterns of the meter
 * @param ip networks; at least one must contain the caller's address; a call without an address
 *     does not match
 * @param attributes patterns of each attribute's value, by the attribute's name; a call that lacks
 *     an attribute does not match
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
   * The attribute that contains the domain of a descriptor. Only the most specific policies that
   * match this attribute apply to a call.
   */
  public static final String DESCRIPTOR_DOMAIN = "envoy.domain";

  /** The meter that counts calls. Every other meter counts a resource that calls use. */
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

  /** Creates conditions that ignore the address and the attributes. */
  public PolicyMatch(List<String> client, List<String> endpoint, List<String> meter) {
    this(client, endpoint, meter, List.of(), Map.of());
  }

  /** Returns these conditions without the conditions on the address and the attributes. */
  public PolicyMatch ofNames() {
    return new PolicyMatch(client, endpoint, meter);
  }

  /**
   * Returns whether the policy applies only to descriptors, because it has a condition on the
   * domain.
   */
  public boolean isOfDescriptors() {
    return attributes.containsKey(DESCRIPTOR_DOMAIN);
  }
}
