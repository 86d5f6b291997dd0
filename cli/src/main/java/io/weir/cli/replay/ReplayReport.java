// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import java.time.Instant;
import java.util.Comparator;
import java.util.List;

/**
 * The result of a replay, which decides recorded calls again and compares the decisions.
 *
 * @param tally what was compared
 * @param differences the earliest differences without a known cause, in order of time
 * @param unproven reasons why calls of the range may be missing
 */
record ReplayReport(ReplayTally tally, List<Difference> differences, List<String> unproven) {

  /**
   * A difference without a known cause. Immutable.
   *
   * @param place position of the call's record; see {@link Row#place}
   * @param epochMillis when the call was decided
   * @param bucket hash of the bucket's key; 0 if the difference does not concern a bucket
   * @param what what differs: {@code verdict}, {@code state}, {@code version}, {@code epoch},
   *     {@code policies}, {@code repeated denial}
   * @param recorded the recorded decision
   * @param again the decision of the replay
   */
  record Finding(
      long place, long epochMillis, long bucket, String what, String recorded, String again) {
    static final Comparator<Finding> IN_ORDER =
        Comparator.comparingLong(Finding::epochMillis).thenComparingLong(Finding::place);

    Instant at() {
      return Instant.ofEpochMilli(epochMillis);
    }
  }

  /**
   * A finding with names from its record. Immutable.
   *
   * @param client the client of the call; empty if Kafka no longer has the record
   * @param bucket the key of the bucket; empty if the finding does not concern a bucket, or the
   *     record does not have the bucket
   */
  record Difference(Finding finding, String client, String bucket) {}

  ReplayReport {
    differences = List.copyOf(differences);
    unproven = List.copyOf(unproven);
  }
}
