// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * The result of a replay, which decides recorded calls again and compares the decisions. Immutable.
 *
 * @param calls number of calls in the range
 * @param allowed number of allowed calls
 * @param callsByDecider number of calls by {@code decided_by}
 * @param equalCalls number of calls whose buckets and limits follow from the policies of their
 *     version
 * @param equalStamps number of stamps that follow from the previous record
 * @param equalDenials number of repeated denials whose bucket had too few tokens for the cost
 * @param repeatedRows number of stamps that were written twice, and judged once
 * @param unreadable number of unreadable lines
 * @param causes number of differences by cause
 * @param gapTokens tokens that were charged without a record
 * @param unexplained number of differences without a known cause
 * @param differences the earliest of these differences, in order of time
 * @param unproven reasons why calls of the range may be missing
 */
public record ReplayReport(
    long calls,
    long allowed,
    Map<String, Long> callsByDecider,
    long equalCalls,
    long equalStamps,
    long equalDenials,
    long repeatedRows,
    long unreadable,
    Map<Cause, Long> causes,
    long gapTokens,
    long unexplained,
    List<Difference> differences,
    List<String> unproven) {

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
  public record Difference(
      String place,
      Instant at,
      String client,
      String bucket,
      String what,
      String recorded,
      String again) {}

  public ReplayReport {
    differences = List.copyOf(differences);
    unproven = List.copyOf(unproven);
  }
}
