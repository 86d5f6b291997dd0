// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.limits.BucketLimit;
import java.util.List;

/**
 * The whole state of one bucket's audit, as it is stored. A value taken from an audit holds until
 * the next change of that audit.
 *
 * @param bucket the bucket's key in the decision cache
 * @param limit the limit that it follows
 * @param epoch the account of the newest epoch
 * @param previousEpochs the accounts of ended epochs with charges in flight, the newest last
 * @param timeToFull when the bucket is full, by the cache and by the records
 * @param chargedAtMicros when the newest known charge was made, in microseconds since 1970
 * @param totalTokens Σ cost of all records since the bucket was last known to be full
 * @param corrections the corrections published, confirmed and due
 * @param forgoneTokens cost of the calls wrongly denied since cache and records last agreed
 * @param timerAtMillis the watermark at which the bucket is examined next; 0 when it has no timer
 * @param gapCheck the search for charges that were never recorded
 */
record BucketAuditState(
    String bucket,
    BucketLimit limit,
    EpochAccount.State epoch,
    List<EpochAccount.State> previousEpochs,
    TimeToFull.State timeToFull,
    long chargedAtMicros,
    long totalTokens,
    CorrectionCycle.State corrections,
    long forgoneTokens,
    long timerAtMillis,
    GapCheck.State gapCheck) {
  BucketAuditState {
    previousEpochs = List.copyOf(previousEpochs);
  }
}
