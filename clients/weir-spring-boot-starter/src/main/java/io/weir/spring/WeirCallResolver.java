// SPDX-License-Identifier: Apache-2.0
package io.weir.spring;

import io.weir.client.Call;
import jakarta.servlet.http.HttpServletRequest;
import org.jspecify.annotations.Nullable;

/**
 * Maps a request to the call that Weir checks, with its client, endpoint and cost. An application
 * may define its own bean instead of using the properties. Implementations must be thread-safe.
 */
@FunctionalInterface
public interface WeirCallResolver {
  /**
   * Returns the call of a request; null if the client is unknown. The filter then refuses the
   * request.
   */
  @Nullable Call resolve(HttpServletRequest request);
}
