// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.console;

import org.jspecify.annotations.Nullable;

/** Thrown when a command cannot continue. The command prints the message without a stack trace. */
public final class CommandFailedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public CommandFailedException(String message) {
    super(message);
  }

  public CommandFailedException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
