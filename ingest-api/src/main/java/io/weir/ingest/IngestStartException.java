// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

/**
 * Thrown when an ingest node cannot start. The message states the cause and the environment
 * variable to change.
 */
public final class IngestStartException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  IngestStartException(String message) {
    super(message);
  }

  IngestStartException(String message, Throwable cause) {
    super(message, cause);
  }
}
