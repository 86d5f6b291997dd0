// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

/** Thrown when a command cannot continue. The command prints the message without a stack trace. */
final class CommandFailedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  CommandFailedException(String message) {
    super(message);
  }

  CommandFailedException(String message, Throwable cause) {
    super(message, cause);
  }
}
