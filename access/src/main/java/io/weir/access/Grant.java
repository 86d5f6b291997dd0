// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import java.util.Set;

/**
 * The permissions of a token. Immutable.
 *
 * @param name the token's name for operators
 * @param scopes the scopes of the token, at least one
 * @param clients the clients whose usage the bearer may read; empty for all clients. A token that
 *     is restricted to clients has only the scope {@link Scope#REPORT}
 */
public record Grant(String name, Set<Scope> scopes, Set<String> clients) {
  /** The grant of every caller if no tokens are configured. */
  public static final Grant EVERYTHING = new Grant("everybody", Set.of(Scope.values()), Set.of());

  public Grant {
    scopes = Set.copyOf(scopes);
    clients = Set.copyOf(clients);
    if (scopes.isEmpty()) {
      throw new IllegalArgumentException("a token must have at least one scope");
    }
    if (!clients.isEmpty() && !scopes.equals(Set.of(Scope.REPORT))) {
      throw new IllegalArgumentException("a token with clients must have only the scope report");
    }
  }

  /** Returns whether the token is restricted to some clients. */
  public boolean isBound() {
    return !clients.isEmpty();
  }

  /** Returns whether the bearer may read the usage of a client. */
  public boolean mayRead(String client) {
    return scopes.contains(Scope.REPORT) && (clients.isEmpty() || clients.contains(client));
  }
}
