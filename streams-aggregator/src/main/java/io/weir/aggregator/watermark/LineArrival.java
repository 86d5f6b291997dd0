// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.watermark;

/** Whether a line of a journal, or all lines of a batch, have arrived before. */
public enum LineArrival {
  /** Not arrived before. */
  NEW,
  /** Arrived before. */
  SEEN,
  /** Too old: it is unknown whether it has arrived before. */
  FORGOTTEN,
  /** The lines of the batch differ. */
  MIXED
}
