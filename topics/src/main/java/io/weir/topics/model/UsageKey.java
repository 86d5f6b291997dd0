// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.Names;

/**
 * The key of a usage count: one client, one meter and one endpoint. The key of the others stands
 * for all endpoints of a client and meter without their own row in a window. Immutable.
 *
 * <p>A caller may also use the endpoint {@value #OTHER}. Its key is different: {@code others} is
 * false.
 *
 * @param client the calling client
 * @param meter what is counted
 * @param endpoint the called endpoint; {@value #OTHER} if {@code others} is true
 * @param others whether the key is that of all endpoints of the client and meter without their own
 *     row
 */
public record UsageKey(String client, String meter, String endpoint, boolean others) {
  /** The endpoint shown for calls of endpoints without their own row. */
  public static final String OTHER = "other";

  public UsageKey {
    Names.require("client", client);
    Names.require("meter", meter);
    Names.require("endpoint", endpoint);
    if (others && !endpoint.equals(OTHER)) {
      throw new IllegalArgumentException(
          "the endpoint of others must be '" + OTHER + "', is '" + endpoint + "'");
    }
  }

  /** Creates the key of one endpoint. */
  public UsageKey(String client, String meter, String endpoint) {
    this(client, meter, endpoint, false);
  }

  /** Returns the key of all endpoints of a client and meter without their own row. */
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
