// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.watermark;

/** What is known of a line of a journal, or of all lines of a batch. */
public enum Arrival {
  /** Never seen. */
  NEW,
  /** Counted before. */
  SEEN,
  /** Too old to be known. */
  FORGOTTEN,
  /** Of a batch: its lines differ. */
  MIXED
}
