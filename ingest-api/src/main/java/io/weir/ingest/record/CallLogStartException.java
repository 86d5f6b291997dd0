// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import java.io.Serial;

/** The call log cannot be opened; the message tells an operator why and what to change. */
public final class CallLogStartException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1;

  CallLogStartException(String message) {
    super(message);
  }

  CallLogStartException(String message, Throwable cause) {
    super(message, cause);
  }
}
