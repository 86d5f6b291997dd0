// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

/** Thrown if an aggregator cannot start. The message states how to fix the cause. */
public final class AggregatorStartException extends Exception {
  private static final long serialVersionUID = 1L;

  AggregatorStartException(String message) {
    super(message);
  }

  AggregatorStartException(String message, Throwable cause) {
    super(message, cause);
  }
}
