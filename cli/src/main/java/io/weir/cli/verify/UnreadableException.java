// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

/** Thrown when bytes of the calls topic break a rule in docs/topics. The message names the rule. */
final class UnreadableException extends Exception {
  private static final long serialVersionUID = 1L;

  UnreadableException(String message) {
    super(message);
  }

  UnreadableException(String message, Throwable cause) {
    super(message, cause);
  }
}
