// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when an export cannot continue. The message is for the user at the terminal. A repeated
 * export continues where this one stopped.
 */
final class ExportFailedException extends Exception {
  private static final long serialVersionUID = 1L;

  ExportFailedException(String message) {
    super(message);
  }

  ExportFailedException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
