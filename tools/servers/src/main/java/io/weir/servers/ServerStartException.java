// SPDX-License-Identifier: Apache-2.0
package io.weir.servers;

import java.io.IOException;

/**
 * Thrown when a server does not start. The message states the reason and, if possible, the setting
 * to change.
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
