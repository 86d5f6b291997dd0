// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import java.util.Set;

/**
 * A fault that has ended when {@link #inject} returns. All processes then run again, but may still
 * have a backlog.
 *
 * @param name name of the fault in the table
 * @param grounds the parts that the fault affects
 * @param callsMustSucceed whether every call must get a verdict, from another node if necessary
 * @param injection the effect
 */
record Fault(String name, Set<Ground> grounds, boolean callsMustSucceed, Injection injection) {
  /** The effect of a fault on a cluster under load. */
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
