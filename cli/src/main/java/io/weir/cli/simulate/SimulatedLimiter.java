// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.simulate;

/** An algorithm that limits one client. Not thread-safe; times never go back. */
interface SimulatedLimiter {
  /** Decides a call, and counts it if it is admitted. */
  boolean take(long atMicros);

  /** Returns how many calls of the limit are used at a time, as the algorithm sees it. */
  double used(long atMicros);
}
