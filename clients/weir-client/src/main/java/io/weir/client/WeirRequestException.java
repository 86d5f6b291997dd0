// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when a node refuses a request because a member is wrong or the token is not accepted. A
 * retry would fail again, and the failure mode does not apply. An operator must correct the program
 * or its settings.
 */
public final class WeirRequestException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final int status;
  private final String reason;
  private final @Nullable String field;
  private final String detail;

  WeirRequestException(int status, String reason, @Nullable String field, String detail) {
    super(status + " " + reason + (field == null ? "" : " " + field) + ": " + detail);
    this.status = status;
    this.reason = reason;
    this.field = field;
    this.detail = detail;
  }

  /** Returns the HTTP status, 400 to 499. */
  public int status() {
    return status;
  }

  /**
   * Returns the reason in the node's response, such as {@code invalid-member}. Returns {@code
   * unknown} if the response does not come from a node.
   */
  public String reason() {
    return reason;
  }

  /**
   * Returns the member, parameter or header field that is wrong; null if no single field is wrong.
   */
  public @Nullable String field() {
    return field;
  }

  /** Returns a sentence that explains the reason. */
  public String detail() {
    return detail;
  }
}
