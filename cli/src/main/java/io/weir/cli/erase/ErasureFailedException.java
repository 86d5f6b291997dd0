// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.erase;

/**
 * Thrown when an erasure cannot continue. The message is for the user at the terminal. A repeated
 * erasure continues with the rows that are left.
 */
public final class ErasureFailedException extends Exception {
  private static final long serialVersionUID = 1L;

  ErasureFailedException(String message) {
    super(message);
  }

  ErasureFailedException(String message, Throwable cause) {
    super(message, cause);
  }
}
