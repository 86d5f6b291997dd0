// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.ranking;

/**
 * Which figures are ranked. Immutable.
 *
 * @param subject whose figures
 * @param measure which figures
 * @param meter what is counted; has no meaning for denied calls, which are those of all meters
 * @param fromEpochMillis inclusive start of the windows' starts
 * @param toEpochMillis exclusive end of the windows' starts
 * @param prefix prefix of the names; empty for all
 */
public record Selection(
    Subject subject,
    Measure measure,
    String meter,
    long fromEpochMillis,
    long toEpochMillis,
    String prefix) {

  /** Whose figures are ranked. */
  public enum Subject {
    CLIENTS,
    ENDPOINTS
  }

  /** Which figures are ranked. */
  public enum Measure {
    /** The billed quantity of one meter. */
    QUANTITY,
    /** Denied calls of all meters. */
    DENIED
  }
}
