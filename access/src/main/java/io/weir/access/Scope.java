// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import java.util.Locale;
import java.util.Optional;

/** What a caller may do. */
public enum Scope {
  /** Have calls decided and recorded, settle them, and hold slots. */
  CHECK,
  /** Read usage, the calls it consists of, and metrics. */
  REPORT,
  /** Read and change policies, clients and switches, and make tokens for clients. */
  ADMIN;

  /** Returns the word by which settings and tokens name it. */
  public String word() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Returns the scope of a word; empty if there is none. */
  static Optional<Scope> of(String word) {
    for (Scope scope : values()) {
      if (scope.word().equals(word)) {
        return Optional.of(scope);
      }
    }
    return Optional.empty();
  }
}
