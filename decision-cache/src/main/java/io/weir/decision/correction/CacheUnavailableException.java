// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.correction;

/**
 * Signals that the cache did not answer. The message states the reason, without a client's data.
 */
public sealed class CacheUnavailableException extends Exception permits PartlyUnavailableException {
  private static final long serialVersionUID = 1L;

  public CacheUnavailableException(String message) {
    super(message);
  }
}
