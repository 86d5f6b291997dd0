// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.Names;

/**
 * The key under which usage is counted: one client, one meter, one endpoint. Immutable.
 *
 * @param client the calling client
 * @param meter what is counted
 * @param endpoint the called endpoint
 */
public record UsageKey(String client, String meter, String endpoint) {
  public UsageKey {
    Names.require("client", client);
    Names.require("meter", meter);
    Names.require("endpoint", endpoint);
  }

  /**
   * Returns the unit of a quantity of this meter: {@code call} for the default meter, otherwise the
   * meter's name.
   */
  public String unit() {
    return meter.equals(CallEvent.DEFAULT_METER) ? "call" : meter;
  }
}
