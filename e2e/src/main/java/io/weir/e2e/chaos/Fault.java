// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import java.util.random.RandomGenerator;

/**
 * Something that goes wrong and is over when {@link #inject} returns: everything runs again, though
 * it may not have caught up.
 *
 * @param name as the table tells it
 * @param injection what happens
 */
record Fault(String name, Injection injection) {
  /** What happens to a cluster under load. */
  interface Injection {
    void run(Cluster cluster, RandomGenerator random) throws Exception;
  }

  void inject(Cluster cluster, RandomGenerator random) throws Exception {
    injection.run(cluster, random);
  }
}
