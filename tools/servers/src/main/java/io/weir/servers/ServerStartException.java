// SPDX-License-Identifier: Apache-2.0
package io.weir.servers;

import java.io.IOException;

/**
 * Signals that a server did not start. The message states which, where, why, and what can be
 * changed.
 */
public final class ServerStartException extends IOException {
  private static final long serialVersionUID = 1L;

  public ServerStartException(String message) {
    super(message);
  }

  public ServerStartException(String message, Throwable cause) {
    super(message, cause);
  }
}
