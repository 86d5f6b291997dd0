// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.audit;

import java.util.Collection;
import java.util.List;

/**
 * The result of {@code weir verify}.
 *
 * @param status exit status of the command
 * @param unproven output lines in which the command states why it could not prove the range
 */
public record Verified(int status, List<String> unproven) {
  private static final int NO_DIFFERENCE_BUT_UNPROVEN = 3;

  public Verified {
    unproven = List.copyOf(unproven);
  }

  /** Returns the result of a command with this exit status and output. */
  public static Verified of(int status, List<String> output) {
    return new Verified(status, output.stream().filter(line -> line.contains("UNPROVEN")).toList());
  }

  /**
   * Returns whether the command found no difference, and could prove every result except the
   * results of the given nodes.
   *
   * @param doubtful nodes that have lost a disk
   */
  boolean isRight(Collection<String> doubtful) {
    return status == 0
        || (status == NO_DIFFERENCE_BUT_UNPROVEN
            && !unproven.isEmpty()
            && unproven.stream().allMatch(reason -> namesOne(reason, doubtful)));
  }

  private static boolean namesOne(String reason, Collection<String> nodes) {
    return nodes.stream().anyMatch(reason::contains);
  }
}
