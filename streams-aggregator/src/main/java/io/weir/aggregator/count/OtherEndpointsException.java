// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

/**
 * Thrown if the stored data were counted with another maximum number of endpoints than the settings
 * have. The number must not change: with another one, a repeated count would put a call into
 * another row than the billed one.
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
    super("the stored data were counted with at most " + stored + " endpoints, not " + set);
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
