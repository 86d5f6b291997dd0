// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

import io.weir.limits.Names;

/**
 * What usage is counted for: one client, one meter, one endpoint.
 *
 * @param client who called
 * @param meter what is counted
 * @param endpoint what was called
 */
public record UsageKey(String client, String meter, String endpoint) {
  public UsageKey {
    Names.require("client", client);
    Names.require("meter", meter);
    Names.require("endpoint", endpoint);
  }

  /** The unit a quantity of this meter is in: {@code call} for the default meter, else its name. */
  public String unit() {
    return meter.equals(CallEvent.DEFAULT_METER) ? "call" : meter;
  }
}
