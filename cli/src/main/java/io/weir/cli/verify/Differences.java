// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import java.util.ArrayList;
import java.util.List;

/** The differences found, one sentence each. Keeps only the first differences. Not thread-safe. */
final class Differences {
  static final int MAX_KEPT = 1_000;

  private final List<String> kept = new ArrayList<>();
  private long count;

  void add(String sentence) {
    count++;
    if (kept.size() < MAX_KEPT) {
      kept.add(sentence);
    }
  }

  List<String> kept() {
    return kept;
  }

  long count() {
    return count;
  }
}
