// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.records;

/** Thrown when bytes of the calls topic break a rule in docs/topics. The message names the rule. */
public final class UnreadableException extends Exception {
  private static final long serialVersionUID = 1L;

  /** Creates an exception. */
  public UnreadableException(String message) {
    super(message);
  }

  /** Creates an exception with a cause. */
  public UnreadableException(String message, Throwable cause) {
    super(message, cause);
  }
}
