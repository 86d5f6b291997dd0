// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import java.math.BigInteger;
import java.util.List;

/**
 * The result of a verification.
 *
 * @param calls distinct call lines recounted in the compared windows
 * @param windows keys and windows compared
 * @param openWindows keys and windows left out because they are not closed yet, or because the log
 *     no longer holds all of their calls
 * @param allowed recounted allowed calls of the compared windows
 * @param denied recounted denied calls of the compared windows
 * @param quantity recounted quantity of the compared windows, over all meters
 * @param duplicates lines that the recount dropped, in everything that was read
 * @param refused lines that the recount refused, in everything that was read
 * @param repeatedRows ledger rows of the range that occurred before under the same record id
 * @param differences one sentence for each difference, at most the first 1,000
 * @param differenceCount number of all differences
 * @param unproven why the range is not closed and complete, one sentence each; empty if it is
 */
public record Verification(
    long calls,
    long windows,
    long openWindows,
    long allowed,
    long denied,
    BigInteger quantity,
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

  /** The conclusion of a verification. */
  public enum Outcome {
    /** The range is closed and complete, and everything agrees. */
    EQUAL,
    /** Something differs. */
    DIFFERENT,
    /** Nothing differs as far as could be compared, but the range is not closed and complete. */
    UNPROVEN
  }

  /** Returns the conclusion. */
  public Outcome outcome() {
    if (differenceCount > 0) {
      return Outcome.DIFFERENT;
    }
    return unproven.isEmpty() ? Outcome.EQUAL : Outcome.UNPROVEN;
  }
}
