// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.audit;

import io.weir.testing.Await;

/**
 * Waits for expected conditions of a deployment. An error names the condition that did not hold in
 * time.
 */
public final class Expect {
  private Expect() {}

  /**
   * Waits until the condition holds.
   *
   * @param what a description of the condition
   * @throws IllegalStateException if the condition does not hold within {@link Await#TIMEOUT}
   */
  public static void that(String what, Await.Condition condition) throws Exception {
    if (!Await.within(Await.TIMEOUT, condition)) {
      throw new IllegalStateException("after " + Await.TIMEOUT + " not yet: " + what);
    }
  }
}
