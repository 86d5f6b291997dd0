// SPDX-License-Identifier: Apache-2.0
package io.weir.spring;

import io.weir.client.Call;
import jakarta.servlet.http.HttpServletRequest;
import org.jspecify.annotations.Nullable;

/**
 * Maps a request to the call that Weir checks: its client, its endpoint and its cost. An
 * application may define its own bean instead of using the properties. Must be thread-safe.
 */
@FunctionalInterface
public interface WeirCallResolver {
  /** Returns the call; null if the client is unknown, so that the request is refused. */
  @Nullable Call resolve(HttpServletRequest request);
}
