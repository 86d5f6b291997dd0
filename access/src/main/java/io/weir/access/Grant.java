// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import java.util.Set;

/**
 * What a token allows. Immutable.
 *
 * @param name the token's name for operators
 * @param scopes the scopes of its bearer
 * @param clients the only clients whose usage it may read; empty for all. A token that is bound to
 *     clients has no other scope than {@link Scope#REPORT}
 */
public record Grant(String name, Set<Scope> scopes, Set<String> clients) {
  /** The grant of every caller if no tokens are configured. */
  public static final Grant EVERYTHING = new Grant("everybody", Set.of(Scope.values()), Set.of());

  public Grant {
    scopes = Set.copyOf(scopes);
    clients = Set.copyOf(clients);
    if (scopes.isEmpty()) {
      throw new IllegalArgumentException("scopes must not be empty");
    }
    if (!clients.isEmpty() && !scopes.equals(Set.of(Scope.REPORT))) {
      throw new IllegalArgumentException("a token with clients must have only the scope report");
    }
  }

  /** Returns whether its bearer is restricted to some clients. */
  public boolean isBound() {
    return !clients.isEmpty();
  }

  /** Returns whether its bearer may read the usage of a client. */
  public boolean mayRead(String client) {
    return scopes.contains(Scope.REPORT) && (clients.isEmpty() || clients.contains(client));
  }
}
