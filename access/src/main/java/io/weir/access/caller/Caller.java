// SPDX-License-Identifier: Apache-2.0
package io.weir.access.caller;

import java.util.Map;

/**
 * A caller that a verified token identifies. Immutable.
 *
 * @param client the name of the client
 * @param attributes attributes of the call from the token's claims, by name
 */
public record Caller(String client, Map<String, String> attributes) {
  public Caller {
    attributes = Map.copyOf(attributes);
  }
}
