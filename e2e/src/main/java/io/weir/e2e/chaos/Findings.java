// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import java.util.List;

/**
 * What the audit found.
 *
 * @param rounds one for each round audited, in order
 * @param quarantined records that could not be counted; the callers sent none
 * @param verifyDiffers 0 when {@code weir verify} found no difference, else 1
 */
record Findings(List<OfRound> rounds, long quarantined, int verifyDiffers) {
  Findings {
    rounds = List.copyOf(rounds);
  }

  /**
   * Of one round.
   *
   * @param answered calls with a verdict
   * @param untold tries without one
   * @param lost calls that were answered and are not recorded, or recorded and not in the ledger
   * @param doubled calls that are recorded or billed more often than they were made
   * @param reports reports answered while calls were made
   * @param misreported figures of a report that differ from the records
   * @param details each difference in words
   */
  record OfRound(
      long answered,
      long untold,
      long lost,
      long doubled,
      long reports,
      long misreported,
      List<String> details) {
    OfRound {
      details = List.copyOf(details);
    }

    boolean isRight() {
      return lost == 0 && doubled == 0 && misreported == 0;
    }
  }

  boolean isRight() {
    return quarantined == 0 && verifyDiffers == 0 && rounds.stream().allMatch(OfRound::isRight);
  }
}
