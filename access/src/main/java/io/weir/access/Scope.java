// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import java.util.Locale;
import java.util.Optional;

/** A permission of a token. */
public enum Scope {
  /** Permission to check, record and settle calls, and to hold slots. */
  CHECK,
  /** Permission to read usage, calls and metrics. */
  REPORT,
  /**
   * Permission to read and change policies, clients and switches, and to issue tokens for clients.
   */
  ADMIN;

  /** Returns the name of this scope in settings and tokens. */
  public String word() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Returns the scope with a name; empty if there is no such scope. */
  static Optional<Scope> of(String word) {
    for (Scope scope : values()) {
      if (scope.word().equals(word)) {
        return Optional.of(scope);
      }
    }
    return Optional.empty();
  }
}
