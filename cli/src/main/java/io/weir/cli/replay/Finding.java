// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import java.time.Instant;
import java.util.Comparator;

/**
 * A difference without a known cause. Immutable.
 *
 * @param place position of the call's record; see {@link Row#place}
 * @param epochMillis when the call was decided
 * @param bucket hash of the bucket's key; 0 if the difference does not concern a bucket
 * @param what what differs: {@code verdict}, {@code state}, {@code version}, {@code epoch}, {@code
 *     policies}, {@code repeated denial}
 * @param recorded the recorded decision
 * @param again the decision of the replay
 */
record Finding(
    long place, long epochMillis, long bucket, String what, String recorded, String again) {
  static final Comparator<Finding> IN_ORDER =
      Comparator.comparingLong(Finding::epochMillis).thenComparingLong(Finding::place);

  Instant at() {
    return Instant.ofEpochMilli(epochMillis);
  }
}
