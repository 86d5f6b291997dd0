// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.simulate;

import io.weir.limits.IpAddress;
import io.weir.limits.policy.PolicyMatch;
import org.jspecify.annotations.Nullable;

/**
 * A call of simulated traffic. Immutable.
 *
 * @param atMicros time of the call, in microseconds since 1970
 * @param client the calling client
 * @param endpoint the called endpoint
 * @param meter the meter that counts the call
 * @param cost tokens that the call takes, ≥ 1; a comparison of algorithms uses 1
 * @param ip the caller's address; null if unknown
 */
record SimulatedCall(
    long atMicros,
    String client,
    String endpoint,
    String meter,
    long cost,
    @Nullable IpAddress ip) {
  /** Creates a call with cost 1 and the default meter. */
  public SimulatedCall(long atMicros, String client, String endpoint) {
    this(atMicros, client, endpoint, null);
  }

  /** Creates a call with cost 1, the default meter, and an address. */
  SimulatedCall(long atMicros, String client, String endpoint, @Nullable IpAddress ip) {
    this(atMicros, client, endpoint, PolicyMatch.METER_OF_CALLS, 1, ip);
  }
}
