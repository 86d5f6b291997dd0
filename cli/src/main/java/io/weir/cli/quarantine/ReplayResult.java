// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.quarantine;

import java.util.Map;

/**
 * The result of a replay.
 *
 * @param sent number of lines and whole records sent
 * @param acknowledged number of sent lines and records that Kafka has acknowledged
 * @param fates the known outcomes. A line or record without an outcome is not counted yet, or was
 *     dropped as a duplicate of a counted line
 */
record ReplayResult(int sent, int acknowledged, Map<Source, Fate> fates) {
  ReplayResult {
    fates = Map.copyOf(fates);
  }

  /** The outcome for a line or record. */
  enum Outcome {
    /** The aggregator has counted the line or record. */
    COUNTED,
    /** The aggregator has refused the line or record again. */
    REFUSED,
    /** Kafka did not accept the line or record. */
    NOT_SENT
  }

  /**
   * The outcome for a line or record, and its reason.
   *
   * @param why the reason; empty if the line or record is counted
   */
  record Fate(Outcome outcome, String why) {}

  /** Returns the number of lines and records with an outcome. */
  long count(Outcome outcome) {
    return fates.values().stream().filter(fate -> fate.outcome() == outcome).count();
  }
}
