// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

/**
 * Thrown when bytes are not a valid record of the expected type. The message states the member and
 * the rule.
 */
public final class MalformedRecordException extends Exception {
  private static final long serialVersionUID = 1L;

  public MalformedRecordException(String message) {
    super(message);
  }

  public MalformedRecordException(String message, Throwable cause) {
    super(message, cause);
  }
}
