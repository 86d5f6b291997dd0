// SPDX-License-Identifier: Apache-2.0
package io.weir.spring;

import io.weir.client.Call;
import jakarta.servlet.http.HttpServletRequest;
import org.jspecify.annotations.Nullable;

/**
 * Maps a request to the call that Weir checks: to a client, an endpoint and a cost. An application
 * can define its own bean instead of using the properties. Implementations must be thread-safe.
 */
@FunctionalInterface
public interface WeirCallResolver {
  /**
   * Returns the call of a request; null if the client is unknown. The filter refuses a request
   * without a call.
   */
  @Nullable Call resolve(HttpServletRequest request);
}
