// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

/**
 * The stored counts have another window than the settings. The window belongs to the data, since
 * ledger rows of two lengths cannot be told apart by who bills them.
 */
public final class OtherWindowException extends IllegalStateException {
  private static final long serialVersionUID = 1L;

  private final long storedMillis;
  private final long setMillis;

  OtherWindowException(long storedMillis, long setMillis) {
    super("the stored counts have windows of " + storedMillis + " ms, not of " + setMillis);
    this.storedMillis = storedMillis;
    this.setMillis = setMillis;
  }

  /** The window of the data. */
  public long storedMillis() {
    return storedMillis;
  }

  /** The window of the settings. */
  public long setMillis() {
    return setMillis;
  }
}
