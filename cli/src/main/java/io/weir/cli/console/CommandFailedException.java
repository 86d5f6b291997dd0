// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.console;

/** Thrown when a command cannot continue. The command prints the message without a stack trace. */
public final class CommandFailedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public CommandFailedException(String message) {
    super(message);
  }

  public CommandFailedException(String message, Throwable cause) {
    super(message, cause);
  }
}
