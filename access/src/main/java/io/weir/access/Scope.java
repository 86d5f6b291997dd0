// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import java.util.Locale;
import java.util.Optional;

/** A permission of a caller. */
public enum Scope {
  /** Check, record and settle calls, and hold slots. */
  CHECK,
  /** Read usage, its calls, and metrics. */
  REPORT,
  /** Read and change policies, clients and switches, and issue tokens for clients. */
  ADMIN;

  /** Returns the word for this scope in settings and tokens. */
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
