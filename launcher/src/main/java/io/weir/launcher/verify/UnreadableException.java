// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.verify;

/** Bytes of the calls topic that do not keep the rules of the reference; the message says which. */
final class UnreadableException extends Exception {
  private static final long serialVersionUID = 1L;

  UnreadableException(String message) {
    super(message);
  }

  UnreadableException(String message, Throwable cause) {
    super(message, cause);
  }
}
