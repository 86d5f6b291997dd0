// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.audit;

import java.util.List;
import java.util.Map;

/**
 * The findings of the audit.
 *
 * @param rounds the findings of each audited round, in order
 * @param quarantined number of records that the aggregators could not count; 0 is expected
 * @param isVerified whether {@code weir verify} found no difference, and could prove every result
 *     except the results of nodes that have lost a disk
 */
record Findings(List<OfRound> rounds, long quarantined, boolean isVerified) {
  public Findings {
    rounds = List.copyOf(rounds);
  }

  /**
   * The findings of one round.
   *
   * @param answered calls with a verdict
   * @param failed calls without a verdict after all their tries
   * @param errors tries without a verdict, by error
   * @param lost calls that were answered but not recorded, or recorded but not in the ledger
   * @param gone answered calls that are not recorded because they were lost with a disk
   * @param doubled calls that were recorded or billed more often than they were sent
   * @param reports reports that aggregators returned while callers sent calls
   * @param misreported figures in reports that differ from the records
   * @param overAdmitted buckets that admitted more than their limit allows
   * @param details a description of each difference
   * @param notes further remarks
   */
  public record OfRound(
      long answered,
      long failed,
      Map<String, Long> errors,
      long lost,
      long gone,
      long doubled,
      long reports,
      long misreported,
      long overAdmitted,
      List<String> details,
      List<String> notes) {
    public OfRound {
      errors = Map.copyOf(errors);
      details = List.copyOf(details);
      notes = List.copyOf(notes);
    }

    boolean isRight() {
      return lost == 0 && doubled == 0 && misreported == 0 && overAdmitted == 0;
    }
  }

  boolean isRight() {
    return quarantined == 0 && isVerified && rounds.stream().allMatch(OfRound::isRight);
  }
}
