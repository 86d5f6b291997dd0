// SPDX-License-Identifier: Apache-2.0
package io.weir.access.caller;

import java.util.Map;

/**
 * Who a caller is, as its verified token says. Immutable.
 *
 * @param client the name of the client
 * @param attributes what else the operator lets tokens tell of their calls, by name
 */
public record Caller(String client, Map<String, String> attributes) {
  public Caller {
    attributes = Map.copyOf(attributes);
  }
}
