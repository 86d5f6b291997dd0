// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.erase;

/**
 * Thrown if an erasure cannot go on. The message is for the person at the terminal. Run again, the
 * erasure goes on with what is left.
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
