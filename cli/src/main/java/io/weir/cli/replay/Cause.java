// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import java.util.Locale;

/**
 * Reason why a recorded decision does not follow from the earlier records, or cannot be compared.
 */
enum Cause {
  CORRECTION(true, "a correction changed the bucket in between"),
  FRESH_EPOCH(true, "Redis lost the bucket, which became full too early"),
  LIMIT_CHANGED(true, "the bucket had a different limit before"),
  GAP(
      true,
      "tokens were charged earlier without a record: a node died, or a lease was not used up"),
  OVERLAP(true, "Redis lost its newest charges: a failover, or old data"),
  CLOCK(true, "Redis' clock stepped back by more than the bucket's fill time"),
  LEASE(true, "tokens of a lease: the recorded time to full is rounded up by at most one tick"),
  DENY_CACHE(true, "a repeated denial that a recent change of its bucket may explain"),
  FAILURE_MODE(false, "Redis did not decide: on_cache_failure did"),
  NOT_RECORDED(false, "denied by a bucket that is not recorded"),
  BEFORE_RANGE(false, "the first record of its bucket: earlier records are not in the range"),
  POLICIES_UNKNOWN(false, "the policies of its version are unknown: matching is not checked"),
  UNKNOWABLE(false, "a policy depends on the address or on attributes, which are not recorded"),
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
  boolean isDifference() {
    return isDifference;
  }

  String meaning() {
    return meaning;
  }

  String shown() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
