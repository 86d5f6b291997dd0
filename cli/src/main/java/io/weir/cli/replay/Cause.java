// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import java.util.Locale;

/**
 * Reason why a recorded decision does not follow from the earlier records, or cannot be compared.
 */
enum Cause {
  /** A correction changed the bucket. */
  CORRECTION(true, "a correction changed the bucket in between"),
  /** Redis lost the bucket, and began a full one although the bucket was not full yet. */
  FRESH_EPOCH(true, "Redis lost the bucket, which became full too early"),
  /** The limit of the bucket changed. */
  LIMIT_CHANGED(true, "the bucket had a different limit before"),
  /** Tokens were charged without a record. */
  GAP(
      true,
      "tokens were charged earlier without a record: a node died, or a lease was not used up"),
  /** Redis returned to an earlier state of the bucket. */
  OVERLAP(true, "Redis lost its newest charges: a failover, or old data"),
  /** Redis' clock stepped back. */
  CLOCK(true, "Redis' clock stepped back by more than the bucket's fill time"),
  /** The record of a lease has a time to full that is rounded up. */
  LEASE(true, "tokens of a lease: the recorded time to full is rounded up by at most one tick"),
  /**
   * A node denied a call without Redis, and a recent change of the bucket may explain the denial.
   */
  DENY_CACHE(true, "a repeated denial that a recent change of its bucket may explain"),
  /** Redis did not decide. */
  FAILURE_MODE(false, "Redis did not decide: on_cache_failure did"),
  /** No record has the bucket. */
  NOT_RECORDED(false, "denied by a bucket that is not recorded"),
  /** The state of the bucket before the range is unknown. */
  BEFORE_RANGE(false, "the first record of its bucket: earlier records are not in the range"),
  /** The policies of the recorded version are unknown. */
  POLICIES_UNKNOWN(false, "the policies of its version are unknown: matching is not checked"),
  /** Policies depend on values that are not recorded. */
  UNKNOWABLE(false, "a policy depends on the address or on attributes, which are not recorded"),
  /** The time to full is longer than the record can hold. */
  CUT_TIME(false, "a record has a time to full of at most 142 years, and the bucket takes longer");

  private final boolean isDifference;
  private final String meaning;

  Cause(boolean isDifference, String meaning) {
    this.isDifference = isDifference;
    this.meaning = meaning;
  }

  /**
   * Returns whether the cause explains a difference. Otherwise it is a reason why there was no
   * comparison.
   */
  public boolean isDifference() {
    return isDifference;
  }

  /** Returns the description for users. */
  public String meaning() {
    return meaning;
  }

  /** Returns the lower-case name. */
  public String shown() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
