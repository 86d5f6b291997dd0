// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import java.util.Locale;

/** Why a recorded decision cannot be derived from the records before it, or not be compared. */
public enum Cause {
  /** A correction changed the bucket. */
  CORRECTION(true, "a correction changed the bucket in between"),
  /** The cache had lost the bucket, which began full although it was not. */
  FRESH_EPOCH(true, "the cache had lost the bucket, and it began full before it was"),
  /** The limit of the bucket changed. */
  LIMIT_CHANGED(true, "the bucket had another limit before"),
  /** Tokens were charged without a record. */
  GAP(true, "tokens were charged before it without a record: a node that died, a lease's rest"),
  /** The cache went back to an earlier state of the bucket. */
  OVERLAP(true, "the cache went back behind what it had charged: a failover, old data"),
  /** The cache's clock went back. */
  CLOCK(true, "the cache's clock went back by more than the bucket takes to fill"),
  /** The record of a lease tells a time to full that is rounded up. */
  LEASE(true, "tokens of a lease: the time to full is up to one tick late"),
  /** Denied without asking, although a change of the bucket is as recent as a denial may be. */
  DENY_CACHE(true, "a repeated denial that a change of its bucket may have overtaken"),
  /** The cache did not decide. */
  FAILURE_MODE(false, "Redis did not decide: on_cache_failure did"),
  /** No record tells of the bucket. */
  NOT_RECORDED(false, "denied by a bucket of which records do not tell"),
  /** The bucket's state before the range is not known. */
  BEFORE_RANGE(false, "the first record of its bucket: what was before is not in the range"),
  /** The policies of the recorded version are not known. */
  POLICIES_UNKNOWN(false, "the policies of its version are not known: matching is not checked"),
  /** Policies look at what is not recorded. */
  UNKNOWABLE(false, "a policy looks at the address or at attributes, which are not recorded"),
  /** The time to full is longer than can be recorded. */
  CUT_TIME(false, "the bucket is full in more than 142 years, which records do not tell exactly");

  private final boolean isDifference;
  private final String meaning;

  Cause(boolean isDifference, String meaning) {
    this.isDifference = isDifference;
    this.meaning = meaning;
  }

  /** Returns whether it explains a difference; otherwise it says why nothing could be compared. */
  public boolean isDifference() {
    return isDifference;
  }

  /** Returns what it means, in words. */
  public String meaning() {
    return meaning;
  }

  /** Returns the lower-case name. */
  public String shown() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
