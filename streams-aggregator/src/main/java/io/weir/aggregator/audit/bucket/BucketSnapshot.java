// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.limits.BucketLimit;

/**
 * The state of one bucket according to the records, and to the newest stamp of the cache.
 * Immutable.
 *
 * @param bucket the bucket's key in the decision cache
 * @param limit its limit in the newest record
 * @param epoch the newest known epoch: its start in microseconds since 1970
 * @param version version of the newest published correction
 * @param confirmedVersion version of the newest confirmed correction
 * @param chargedTokens the cache's counter in the newest stamp
 * @param pendingTokens tokens that the cache has charged for calls not yet recorded: in flight, or
 *     lost
 * @param totalTokens Σ cost of all records since the bucket was last full
 * @param cacheFullAtEpochMicros when the bucket will be full according to the newest stamp
 * @param trueFullAtEpochMicros when the bucket should be full according to the records
 * @param stampedAtEpochMillis when the newest stamp was made, by the cache's clock
 * @param knownThroughEpochMicros cache's time of the newest stamp or charge included in both times
 *     to full; in the future if the cache's clock has stepped back since
 */
public record BucketSnapshot(
    String bucket,
    BucketLimit limit,
    long epoch,
    long version,
    long confirmedVersion,
    long chargedTokens,
    long pendingTokens,
    long totalTokens,
    long cacheFullAtEpochMicros,
    long trueFullAtEpochMicros,
    long stampedAtEpochMillis,
    long knownThroughEpochMicros) {}
