// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

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
   * A difference without a known cause, with names from its record. Immutable.
   *
   * @param client the client of the call; empty if Kafka no longer has the record
   * @param bucket the key of the bucket; empty if the difference does not concern a bucket, or the
   *     record does not have the bucket
   */
  record Difference(Finding finding, String client, String bucket) {}

  ReplayReport {
    differences = List.copyOf(differences);
    unproven = List.copyOf(unproven);
  }
}
