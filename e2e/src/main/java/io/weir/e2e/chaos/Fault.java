// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import java.util.Set;

/**
 * Something that goes wrong and is over when {@link #inject} returns: everything runs again, though
 * it may not have caught up.
 *
 * @param name as the table tells it
 * @param grounds what it lays hands on
 * @param callsMustSucceed whether every call has to get its verdict all the same, at another node
 *     if need be
 * @param injection what happens
 */
record Fault(String name, Set<Ground> grounds, boolean callsMustSucceed, Injection injection) {
  /** What happens to a cluster under load. */
  interface Injection {
    void run(Scene scene) throws Exception;
  }

  Fault {
    grounds = Set.copyOf(grounds);
  }

  static Fault of(String name, Ground ground, Injection injection) {
    return new Fault(name, Set.of(ground), false, injection);
  }

  static Fault of(String name, Set<Ground> grounds, Injection injection) {
    return new Fault(name, grounds, false, injection);
  }

  void inject(Scene scene) throws Exception {
    injection.run(scene);
  }
}
