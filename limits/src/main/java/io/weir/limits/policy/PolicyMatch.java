// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import java.util.List;

/**
 * Which calls a policy is for. Each list holds patterns in which {@code *} stands for any run of
 * characters, none included; one of them must fit. An empty list fits everything.
 *
 * @param client patterns of the client
 * @param endpoint patterns of the endpoint
 * @param meter patterns of the meter
 */
public record PolicyMatch(List<String> client, List<String> endpoint, List<String> meter) {
  /** Fits every call. */
  public static final PolicyMatch ANY = new PolicyMatch(List.of(), List.of(), List.of());

  /** The meter that counts calls; every other one counts something that a call used. */
  public static final String METER_OF_CALLS = "calls";

  public PolicyMatch {
    client = List.copyOf(client);
    endpoint = List.copyOf(endpoint);
    meter = List.copyOf(meter);
  }
}
