// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.correction;

/**
 * Thrown when the cache does not reply. The message states the reason, and contains no data of a
 * client.
 */
public sealed class CacheUnavailableException extends Exception permits PartlyUnavailableException {
  private static final long serialVersionUID = 1L;

  public CacheUnavailableException(String message) {
    super(message);
  }
}
