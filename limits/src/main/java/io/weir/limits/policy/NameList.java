// SPDX-License-Identifier: Apache-2.0
package io.weir.limits.policy;

import java.util.List;

/** Names in a sentence: all of a few, of many the first ones and how many more there are. */
public final class NameList {
  /** Most names that are told; one more than this would be as long as its number. */
  private static final int MOST = 4;

  private static final int FIRST = 3;

  private NameList() {}

  /**
   * The names in their order. Of 30 names: {@code a, b, c and 27 more}.
   *
   * @param word what stands before the last name when all are told: {@code and}, {@code or}
   */
  public static String of(List<String> names, String word) {
    if (names.size() > MOST) {
      return String.join(", ", names.subList(0, FIRST))
          + " and "
          + (names.size() - FIRST)
          + " more";
    }
    int last = names.size() - 1;
    return last < 1
        ? String.join("", names)
        : String.join(", ", names.subList(0, last)) + " " + word + " " + names.get(last);
  }
}
