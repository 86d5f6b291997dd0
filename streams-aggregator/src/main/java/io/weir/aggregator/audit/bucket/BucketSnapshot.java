// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.limits.BucketLimit;

/**
 * How one bucket stands by the records, and by the newest stamp of the cache. Immutable.
 *
 * @param bucket the bucket's key in the decision cache
 * @param limit its limit in the newest record
 * @param epoch the newest epoch that is known, in microseconds since 1970
 * @param version version of the newest correction that was published
 * @param confirmedVersion version of the newest correction that a stamp has shown as applied
 * @param chargedTokens the cache's counter in the newest stamp
 * @param pendingTokens charged by the cache, as stamps show, for calls that no record shows yet: in
 *     flight, or lost
 * @param totalTokens tokens of all records since the bucket was last known to be full
 * @param cacheFullAtEpochMicros when the bucket will be full by the newest stamp
 * @param trueFullAtEpochMicros when it should be by the records
 * @param stampedAtEpochMillis when the newest stamp was made, by the cache's clock
 * @param knownThroughEpochMicros time by the cache's clock of the newest stamp or charge that the
 *     two times to full include; later than now if the clock has stepped back since
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
