// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import io.weir.limits.IpAddress;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The properties of a call that policies match. Immutable.
 *
 * @param client the calling client
 * @param endpoint the called endpoint
 * @param meter the meter that counts the call
 * @param ip the caller's address; null if the address is unknown
 * @param attributes further properties that the sender states, by name
 */
public record CallFacts(
    String client,
    String endpoint,
    String meter,
    @Nullable IpAddress ip,
    Map<String, String> attributes) {
  public CallFacts {
    attributes = Map.copyOf(attributes);
  }

  /** Creates the properties of a call that has no address and no attributes. */
  public CallFacts(String client, String endpoint, String meter) {
    this(client, endpoint, meter, null, Map.of());
  }
}
