// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.watermark;

/** States whether a line of a journal, or all lines of a batch, have arrived before. */
public enum LineArrival {
  /** The line or lines have not arrived before. */
  NEW,
  /** The line or lines have arrived before. */
  SEEN,
  /** The line or lines are too old, so it is unknown whether they have arrived before. */
  FORGOTTEN,
  /** Some lines of the batch have arrived before, and others have not. */
  MIXED
}
