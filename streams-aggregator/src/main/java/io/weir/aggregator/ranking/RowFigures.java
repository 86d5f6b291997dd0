// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.ranking;

import io.weir.topics.wire.MalformedRecordException;
import io.weir.topics.wire.UsageStateCodec;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The ranked figures of a row, or a change of these figures.
 *
 * @param quantity billed quantity
 * @param denied number of denied calls
 */
record RowFigures(long quantity, long denied) {
  private static final Logger LOG = LoggerFactory.getLogger(RowFigures.class);

  static final RowFigures NONE = new RowFigures(0, 0);

  /**
   * Maximum figure of a row; greater figures are reduced to it. The aggregator refuses quantities
   * of 2^53 and more.
   */
  private static final long MAX_FIGURE = 1L << 60;

  /** Decodes the value of a row. The figures of an absent or unreadable value are 0. */
  static RowFigures of(byte @Nullable [] value) {
    if (value == null) {
      return NONE;
    }
    try {
      UsageStateCodec.Figures figures = UsageStateCodec.decodeFigures(value);
      return new RowFigures(bounded(figures.quantity()), bounded(figures.callsDenied()));
    } catch (MalformedRecordException malformed) {
      // StateRecords has counted and logged the record
      LOG.debug("a malformed record of the state topic is not ranked", malformed);
      return NONE;
    }
  }

  private static long bounded(long figure) {
    return Math.max(-MAX_FIGURE, Math.min(figure, MAX_FIGURE));
  }

  RowFigures minus(RowFigures earlier) {
    return new RowFigures(quantity - earlier.quantity, denied - earlier.denied);
  }
}
