// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.verify;

import java.util.List;

/**
 * What a verification found.
 *
 * @param calls distinct call lines recounted in the windows compared
 * @param windows keys and windows compared
 * @param openWindows keys and windows left out because their period is not closed yet
 * @param allowed recounted allowed calls of the windows compared
 * @param denied recounted denied calls of the windows compared
 * @param duplicates lines the recount dropped, in the whole topic
 * @param refused lines the recount refused, in the whole topic
 * @param repeatedRows ledger rows that stood there before, under the same record id
 * @param differences one sentence for each window that differs, and each row that no ledger may
 *     hold
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
    List<String> differences) {
  public Verification {
    differences = List.copyOf(differences);
  }
}
