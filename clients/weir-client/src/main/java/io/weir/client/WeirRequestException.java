// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import org.jspecify.annotations.Nullable;

/**
 * A node has refused a request that no repetition mends: a member is wrong, or the token is not
 * accepted. It is a fault of the calling program or of its settings, so it is never turned into a
 * decision, whatever the failure mode.
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
   * Returns the word of the check API that says what is wrong, such as {@code invalid-member};
   * {@code unknown} if something else than a node of Weir has answered.
   */
  public String reason() {
    return reason;
  }

  /** Returns the member, parameter or header field that is wrong; null if it is not one of them. */
  public @Nullable String field() {
    return field;
  }

  /** Returns what is wrong, in a sentence. */
  public String detail() {
    return detail;
  }
}
