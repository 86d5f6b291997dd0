// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

/**
 * Thrown if the setting of the window length differs from the length with which the stored data
 * were counted. The length must not change, because a reader of the ledger cannot distinguish
 * windows of two lengths.
 */
public final class OtherWindowException extends IllegalStateException {
  private static final long serialVersionUID = 1L;

  private final long storedMillis;
  private final long setMillis;

  OtherWindowException(long storedMillis, long setMillis) {
    super(
        "the stored data were counted with windows of "
            + storedMillis
            + " ms, but the window is now "
            + setMillis
            + " ms");
    this.storedMillis = storedMillis;
    this.setMillis = setMillis;
  }

  /** Returns the window length with which the data were counted, in milliseconds. */
  public long storedMillis() {
    return storedMillis;
  }

  /** Returns the window length in the settings, in milliseconds. */
  public long setMillis() {
    return setMillis;
  }
}
