// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

/**
 * Thrown if the stored counts have another number of endpoints with rows of their own than the
 * settings. The number belongs to the data: counted again with another one, a call would stand in
 * another row than the one that was billed.
 */
public final class OtherEndpointsException extends IllegalStateException {
  private static final long serialVersionUID = 1L;

  private final long stored;
  private final long set;

  /**
   * Creates the exception.
   *
   * @param stored the number of the data
   * @param set the number of the settings
   */
  public OtherEndpointsException(long stored, long set) {
    super("the stored counts have " + stored + " endpoints with rows of their own, not " + set);
    this.stored = stored;
    this.set = set;
  }

  /** Returns the number of the data. */
  public long stored() {
    return stored;
  }

  /** Returns the number of the settings. */
  public long set() {
    return set;
  }
}
