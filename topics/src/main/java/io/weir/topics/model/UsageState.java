// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

/**
 * The newest figures of one key and window: absolute values, so that a reader may see one twice.
 *
 * @param key what was counted
 * @param window when
 * @param status how settled the figures are
 * @param revision 0 while running, else the ledger row they agree with
 * @param count the totals so far
 * @param complete false while running, or when closed without a silent node
 */
public record UsageState(
    UsageKey key,
    UsageWindow window,
    Status status,
    long revision,
    UsageCount count,
    boolean complete) {

  /** How settled the figures of a window are. */
  public enum Status {
    /** The window is open; figures still grow. */
    RUNNING,
    /** The window is closed; figures are those of the FINAL row. */
    FINAL,
    /** Facts came after the close; figures include every ADJUSTMENT. */
    ADJUSTED
  }

  public UsageState {
    if ((status == Status.RUNNING) != (revision == 0)) {
      throw new IllegalArgumentException(status + " with revision " + revision);
    }
  }
}
