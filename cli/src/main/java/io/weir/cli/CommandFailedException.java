// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

/**
 * Thrown if a command cannot continue. The message is for the person at the terminal; no stack
 * trace is shown.
 */
final class CommandFailedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  CommandFailedException(String message) {
    super(message);
  }

  CommandFailedException(String message, Throwable cause) {
    super(message, cause);
  }
}
