// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.limits.BucketLimit;

/**
 * The state of one bucket according to the records and to the newest stamp of the cache. Immutable.
 *
 * @param bucket the bucket's key in the decision cache
 * @param limit the bucket's limit in the newest record
 * @param epoch start of the newest known epoch, in microseconds since 1970
 * @param version version of the newest published correction
 * @param confirmedVersion version of the newest confirmed correction
 * @param chargedTokens the cache's counter in the newest stamp
 * @param pendingTokens tokens that the cache has charged for calls without a known record, because
 *     the records are in flight or lost
 * @param totalTokens sum of the costs of all records since the bucket was last full
 * @param cacheFullAtEpochMicros time at which the bucket is full according to the newest stamp
 * @param trueFullAtEpochMicros time at which the bucket is full according to the records
 * @param stampedAtEpochMillis time of the newest stamp, by the cache's clock
 * @param knownThroughEpochMicros time of the newest stamp or charge that both times to full
 *     include, by the cache's clock. The time is in the future if the clock has stepped back since
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
