// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import java.util.Locale;

/** Thrown when an invariant is broken. No code under test catches this error. */
final class InvariantBroken extends AssertionError {
  private static final long serialVersionUID = 1L;

  /** The invariants; see docs/testing.md. */
  enum Invariant {
    /** Σ ledger = Σ cost of distinct recorded calls; an answered call is recorded once. */
    BILLED,
    /** A bucket admits at most its capacity, its refill and the permitted excess. */
    ADMITTED,
    /**
     * Rows of closed windows change only by adjustments. The revisions have no gaps, and the
     * quantities add up.
     */
    CLOSED_ROWS,
    /**
     * A CLOSE follows all rows that it covers. No window is marked as complete if calls are
     * missing.
     */
    CLOSE,
    /** After the faults, the buckets in the cache agree with the records. */
    CONVERGENCE,
    /** No low watermark is greater than the time of a lease that may still decide calls. */
    PROMISE,
    /** received = counted + duplicate + late-adjusted + quarantined. */
    EQUATION,
    /** No correction is applied out of order, changes a counter, or returns tokens twice. */
    CORRECTIONS,
    /** A denial changes nothing. */
    DENY,
    /** Every required event happens eventually. */
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
