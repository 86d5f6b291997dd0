// SPDX-License-Identifier: Apache-2.0
package io.weir.spring;

import io.weir.client.Call;
import jakarta.servlet.http.HttpServletRequest;
import org.jspecify.annotations.Nullable;

/**
 * Tells which call of Weir a request is: whose, of which endpoint, at which cost. An application
 * may give a bean of its own instead of what the properties describe. Must be thread-safe.
 */
@FunctionalInterface
public interface WeirCallResolver {
  /** Returns the call; null if it is not known whose it is, so that the request is refused. */
  @Nullable Call resolve(HttpServletRequest request);
}
