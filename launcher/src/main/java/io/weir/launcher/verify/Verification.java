// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.verify;

import java.util.List;

/**
 * What a verification found.
 *
 * @param calls distinct call lines recounted in the windows compared
 * @param windows keys and windows compared
 * @param openWindows keys and windows left out because they are not closed yet, or because the log
 *     does not hold all of their calls any more
 * @param allowed recounted allowed calls of the windows compared
 * @param denied recounted denied calls of the windows compared
 * @param duplicates lines the recount dropped, in all that was read
 * @param refused lines the recount refused, in all that was read
 * @param repeatedRows ledger rows of the range that stood there before, under the same record id
 * @param differences one sentence for each difference, the first 1,000
 * @param differenceCount how many there are
 * @param unproven why the range is not closed and complete, one sentence each; empty when it is
 */
public record Verification(
    long calls,
    long windows,
    long openWindows,
    long allowed,
    long denied,
    long duplicates,
    long refused,
    long repeatedRows,
    List<String> differences,
    long differenceCount,
    List<String> unproven) {
  public Verification {
    differences = List.copyOf(differences);
    unproven = List.copyOf(unproven);
  }

  /** What a verification comes to. */
  public enum Outcome {
    /** The range is closed and complete, and everything agrees. */
    EQUAL,
    /** Something differs. */
    DIFFERENT,
    /** Nothing differs as far as could be compared, but the range is not closed and complete. */
    UNPROVEN
  }

  /** What it comes to. */
  public Outcome outcome() {
    if (differenceCount > 0) {
      return Outcome.DIFFERENT;
    }
    return unproven.isEmpty() ? Outcome.EQUAL : Outcome.UNPROVEN;
  }
}
