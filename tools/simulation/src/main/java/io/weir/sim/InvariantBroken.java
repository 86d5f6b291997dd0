// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import java.util.Locale;

/** Thrown if an invariant is broken. No code under test catches it. */
final class InvariantBroken extends AssertionError {
  private static final long serialVersionUID = 1L;

  /** The invariants; see docs/testing.md. */
  enum Invariant {
    /** Σ ledger = Σ cost of distinct recorded calls; an answered call is recorded once. */
    BILLED,
    /**
     * A bucket admits its capacity and its refill, and beyond that no more than the named terms.
     */
    ADMITTED,
    /** Rows of closed windows change only by adjustments that add up, without holes. */
    CLOSED_ROWS,
    /** A CLOSE follows all rows it covers; no window is closed as complete that is not. */
    CLOSE,
    /** When disturbances end, the cache stands where the records say. */
    CONVERGENCE,
    /** No low watermark passes a lease while a call may still be decided by it. */
    PROMISE,
    /** received = counted + duplicate + late-adjusted + quarantined. */
    EQUATION,
    /** No correction is applied out of order, raises a counter or is credited twice. */
    CORRECTIONS,
    /** A denial changes nothing. */
    DENY,
    /** Whatever must happen eventually does happen. */
    LIVENESS,
    /** The code under test stopped itself. */
    STOPPED;

    String wireName() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }

  private final Invariant invariant;

  InvariantBroken(Invariant invariant, String detail) {
    super(invariant.wireName() + ": " + detail);
    this.invariant = invariant;
  }

  Invariant invariant() {
    return invariant;
  }
}
