// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.Names;

/**
 * The key of a usage count: a client, a meter and an endpoint. A special key, the key of the
 * others, represents all endpoints that have no row of their own in a window. Immutable.
 *
 * <p>A caller may also call an endpoint whose name is {@value #OTHER}; {@code others} is false in
 * the key of that endpoint.
 *
 * @param client the calling client
 * @param meter the name of the meter
 * @param endpoint the called endpoint; {@value #OTHER} if {@code others} is true
 * @param others whether the key represents all endpoints of the client and meter that have no row
 *     of their own
 */
public record UsageKey(String client, String meter, String endpoint, boolean others) {
  /** The displayed endpoint of the key of the others. */
  public static final String OTHER = "other";

  public UsageKey {
    Names.require("client", client);
    Names.require("meter", meter);
    Names.require("endpoint", endpoint);
    if (others && !endpoint.equals(OTHER)) {
      throw new IllegalArgumentException(
          "the endpoint of others must be '" + OTHER + "', but is '" + endpoint + "'");
    }
  }

  /** Creates the key of one endpoint. */
  public UsageKey(String client, String meter, String endpoint) {
    this(client, meter, endpoint, false);
  }

  /** Returns the key of the others for a client and a meter. */
  public static UsageKey others(String client, String meter) {
    return new UsageKey(client, meter, OTHER, true);
  }

  /**
   * Returns the unit of a quantity of this meter: {@code call} for the default meter, otherwise the
   * meter's name.
   */
  public String unit() {
    return meter.equals(CallEvent.DEFAULT_METER) ? "call" : meter;
  }
}
