// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

/**
 * Thrown if the setting of the maximum number of endpoints differs from the number with which the
 * stored data were counted. With another number, a recount of the same calls could add a call to a
 * row in which the call was not billed.
 */
public final class OtherEndpointsException extends IllegalStateException {
  private static final long serialVersionUID = 1L;

  private final long stored;
  private final long set;

  /**
   * Creates the exception.
   *
   * @param stored the number with which the data were counted
   * @param set the number in the settings
   */
  public OtherEndpointsException(long stored, long set) {
    super(
        "the stored data were counted with maxEndpoints "
            + stored
            + ", but maxEndpoints is now "
            + set);
    this.stored = stored;
    this.set = set;
  }

  /** Returns the number with which the data were counted. */
  public long stored() {
    return stored;
  }

  /** Returns the number in the settings. */
  public long set() {
    return set;
  }
}
