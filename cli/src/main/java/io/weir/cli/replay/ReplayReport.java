// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import java.time.Instant;
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
   * @param place {@code partition@offset:line}
   * @param at when the call was decided
   * @param client the client of the call
   * @param bucket the key of the bucket; empty if the difference does not concern a bucket, or the
   *     record does not have the bucket
   * @param what what differs: {@code verdict}, {@code state}, {@code version}, {@code epoch},
   *     {@code policies}, {@code repeated denial}
   * @param recorded the recorded decision
   * @param again the decision of the replay
   */
  record Difference(
      String place,
      Instant at,
      String client,
      String bucket,
      String what,
      String recorded,
      String again) {}

  ReplayReport {
    differences = List.copyOf(differences);
    unproven = List.copyOf(unproven);
  }
}
