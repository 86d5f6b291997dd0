// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.Names;

/**
 * The key under which usage is counted: one client, one meter, one endpoint; or one client and
 * meter, and all endpoints that have no row of their own in a window. Immutable.
 *
 * <p>A caller may use the endpoint {@value #OTHER}, too. Its key is a different one, with {@code
 * others} false.
 *
 * @param client the calling client
 * @param meter what is counted
 * @param endpoint the called endpoint; {@value #OTHER} if {@code others} is true
 * @param others whether the key stands for all endpoints of the client and meter that have no row
 *     of their own
 */
public record UsageKey(String client, String meter, String endpoint, boolean others) {
  /** The endpoint that is shown for calls of endpoints without a row of their own. */
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

  /** Returns the key of all endpoints of a client and meter that have no row of their own. */
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
