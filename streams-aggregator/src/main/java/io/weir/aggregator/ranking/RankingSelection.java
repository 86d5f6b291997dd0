// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.ranking;

/**
 * The selection of the names, figures and windows of a ranking. Immutable.
 *
 * @param subject whether clients or endpoints are ranked
 * @param measure the ranked figure
 * @param meter the meter of the quantity; ignored for denied calls, because they are summed over
 *     all meters
 * @param fromEpochMillis start of the oldest window, inclusive
 * @param toEpochMillis end of the range of window starts, exclusive
 * @param prefix prefix of the names; empty for all names
 */
public record RankingSelection(
    Subject subject,
    Measure measure,
    String meter,
    long fromEpochMillis,
    long toEpochMillis,
    String prefix) {

  /** The kind of names that are ranked. */
  public enum Subject {
    CLIENTS,
    ENDPOINTS
  }

  /** The figure by which names are ranked. */
  public enum Measure {
    /** The billed quantity of one meter. */
    QUANTITY,
    /** The number of denied calls of all meters. */
    DENIED
  }
}
