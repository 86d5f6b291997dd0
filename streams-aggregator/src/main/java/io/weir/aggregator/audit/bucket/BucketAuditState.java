// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.limits.BucketLimit;
import java.util.List;

/**
 * The complete stored state of one bucket's audit. It shares mutable objects with the audit, so it
 * is valid only until the audit changes.
 *
 * @param bucket the bucket's key in the decision cache
 * @param limit the limit in force
 * @param epoch the account of the newest epoch
 * @param previousEpochs the accounts of the previous epochs that have charges in flight, in
 *     ascending order
 * @param timeToFull times at which the bucket is full, according to the cache and to the records
 * @param chargedAtMicros time of the newest known charge, in microseconds since 1970
 * @param totalTokens sum of the costs of all records since the bucket was last full
 * @param corrections the published, confirmed and due corrections
 * @param forgoneTokens sum of the costs of the calls that were wrongly denied since cache and
 *     records last agreed
 * @param timerAtMillis the watermark at which the bucket is examined next; 0 if it has no timer
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
