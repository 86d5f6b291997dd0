// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import java.util.List;

/**
 * The calls to which a policy applies. Each list contains patterns in which {@code *} stands for
 * any run of characters, including an empty one; at least one pattern must match. An empty list
 * matches everything. Immutable.
 *
 * @param client patterns of the client
 * @param endpoint patterns of the endpoint
 * @param meter patterns of the meter
 */
public record PolicyMatch(List<String> client, List<String> endpoint, List<String> meter) {
  /** Matches every call. */
  public static final PolicyMatch ANY = new PolicyMatch(List.of(), List.of(), List.of());

  /** The meter that counts calls; every other meter counts something that a call used. */
  public static final String METER_OF_CALLS = "calls";

  public PolicyMatch {
    client = List.copyOf(client);
    endpoint = List.copyOf(endpoint);
    meter = List.copyOf(meter);
  }
}
