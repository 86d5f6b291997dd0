// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

/**
 * Thrown if an export cannot go on. The message is for the person at the terminal. Run again, the
 * export goes on where it was.
 */
public final class ExportFailedException extends Exception {
  private static final long serialVersionUID = 1L;

  ExportFailedException(String message) {
    super(message);
  }

  ExportFailedException(String message, Throwable cause) {
    super(message, cause);
  }
}
