// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * What a comparison of recorded decisions with the same decisions made again has found. Immutable.
 *
 * @param calls calls of the range
 * @param allowed how many of them were allowed
 * @param callsByDecider how many were decided by what, by its name on the records
 * @param equalCalls calls whose buckets and limits are those of the policies of their version
 * @param equalStamps stamps that follow from the record before
 * @param equalDenials denials without asking whose bucket could not hold the cost
 * @param repeatedRows stamps that stand twice, and were judged once
 * @param unreadable lines that cannot be read
 * @param causes how often each cause was named
 * @param gapTokens tokens that were charged without a record
 * @param unexplained how many differences nothing explains
 * @param differences the earliest of them, in the order of their times
 * @param unproven why calls of the range may be missing
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
   * A difference that nothing explains. Immutable.
   *
   * @param place {@code partition@offset:line}
   * @param at when the call was decided
   * @param client whose call
   * @param bucket the key of the bucket; empty if the difference is not one of a bucket, or the
   *     bucket is not on the record
   * @param what what differs: {@code verdict}, {@code state}, {@code version}, {@code epoch},
   *     {@code policies}, {@code repeated denial}
   * @param recorded what is recorded
   * @param again what was decided again
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
