// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.ranking;

/**
 * The selection of figures for a ranking. Immutable.
 *
 * @param subject whether clients or endpoints are ranked
 * @param measure the ranked figure
 * @param meter the meter of a quantity; ignored for denied calls, which are counted over all meters
 * @param fromEpochMillis inclusive start of the windows' starts
 * @param toEpochMillis exclusive end of the windows' starts
 * @param prefix prefix of the names; empty for all
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
    /** Denied calls of all meters. */
    DENIED
  }
}
