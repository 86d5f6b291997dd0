// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.simulate;

import io.weir.limits.IpAddress;
import io.weir.limits.policy.PolicyMatch;
import org.jspecify.annotations.Nullable;

/**
 * A call of simulated traffic. Immutable.
 *
 * @param atMicros when it is made, in microseconds since 1970
 * @param client the calling client
 * @param endpoint the called endpoint
 * @param meter the meter that counts it
 * @param cost tokens that it takes, ≥ 1; algorithms alone take 1
 * @param ip the caller's address; null if it is not known
 */
public record SimulatedCall(
    long atMicros,
    String client,
    String endpoint,
    String meter,
    long cost,
    @Nullable IpAddress ip) {
  /** Creates a call of cost 1 of the meter that counts calls. */
  public SimulatedCall(long atMicros, String client, String endpoint) {
    this(atMicros, client, endpoint, null);
  }

  /** Creates a call of cost 1 of the meter that counts calls, from an address. */
  SimulatedCall(long atMicros, String client, String endpoint, @Nullable IpAddress ip) {
    this(atMicros, client, endpoint, PolicyMatch.METER_OF_CALLS, 1, ip);
  }
}
