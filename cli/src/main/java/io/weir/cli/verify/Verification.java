// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import java.math.BigInteger;
import java.util.List;

/**
 * The result of a verification.
 *
 * @param calls number of distinct calls recounted in the compared windows
 * @param windows number of keys and windows compared
 * @param openWindows number of keys and windows not compared, because they are not closed yet, or
 *     because some of their calls have expired in the log
 * @param allowed recounted allowed calls of the compared windows
 * @param denied recounted denied calls of the compared windows
 * @param quantity recounted quantity of the compared windows, over all meters
 * @param duplicates number of lines that the recount dropped, in all records read
 * @param refused number of lines that the recount refused, in all records read
 * @param repeatedRows number of ledger rows of the range that repeat an earlier record id
 * @param differences one sentence for each difference, at most the first 1,000
 * @param differenceCount number of all differences
 * @param unproven reasons why the range is not closed and complete, one sentence each; empty if it
 *     is
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
    /** The range is closed and complete, and all figures agree. */
    EQUAL,
    /** There are differences. */
    DIFFERENT,
    /** There are no differences so far, but the range is not closed and complete. */
    UNPROVEN
  }

  /** Returns the conclusion. */
  public Outcome outcome() {
    return differenceCount > 0
        ? Outcome.DIFFERENT
        : unproven.isEmpty() ? Outcome.EQUAL : Outcome.UNPROVEN;
  }
}
