// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import java.io.Serial;

/** Thrown when a call log cannot be opened. The message states the reason and the remedy. */
public final class CallLogStartException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1;

  CallLogStartException(String message) {
    super(message);
  }

  CallLogStartException(String message, Throwable cause) {
    super(message, cause);
  }
}
