// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.simulate;

/** An algorithm that limits one client. Times must not decrease. Not thread-safe. */
interface SimulatedLimiter {
  /** Decides a call, and counts it if it is admitted. */
  boolean take(long atMicros);

  /** Returns how many calls the algorithm counts against the limit at the given time. */
  double used(long atMicros);
}
