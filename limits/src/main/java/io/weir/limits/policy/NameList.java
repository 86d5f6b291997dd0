// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import java.util.List;

/**
 * Formats names for a sentence: all names if there are at most four, otherwise the first names and
 * the number of other names. Stateless and thread-safe.
 */
public final class NameList {
  /**
   * Maximum length of a list that is formatted in full. The maximum is four because "1 more" is
   * hardly shorter than a fourth name.
   */
  private static final int MOST = 4;

  private static final int FIRST = 3;

  private NameList() {}

  /**
   * Returns the names as one text, in the given order. Example for 30 names: {@code a, b, c and 27
   * more}.
   *
   * @param word conjunction before the last name if all names are listed, such as {@code and} or
   *     {@code or}
   */
  public static String of(List<String> names, String word) {
    if (names.size() > MOST) {
      return "%s and %s more"
          .formatted(String.join(", ", names.subList(0, FIRST)), names.size() - FIRST);
    }
    int last = names.size() - 1;
    return last < 1
        ? String.join("", names)
        : String.join(", ", names.subList(0, last)) + " " + word + " " + names.get(last);
  }
}
