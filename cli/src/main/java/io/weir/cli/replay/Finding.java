// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import java.time.Instant;
import java.util.Comparator;

/**
 * A difference that nothing explains. Immutable.
 *
 * @param place where the call is recorded; see {@link Row#place}
 * @param epochMillis when it was decided
 * @param bucket hash of the bucket's key; 0 if the difference is not one of a bucket
 * @param what what differs
 * @param recorded what is recorded
 * @param again what was decided again
 */
record Finding(
    long place, long epochMillis, long bucket, String what, String recorded, String again) {
  static final Comparator<Finding> IN_ORDER =
      Comparator.comparingLong(Finding::epochMillis).thenComparingLong(Finding::place);

  Instant at() {
    return Instant.ofEpochMilli(epochMillis);
  }
}
