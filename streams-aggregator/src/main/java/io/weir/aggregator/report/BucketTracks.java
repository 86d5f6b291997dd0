// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.aggregator.count.BucketStanding;
import java.util.List;

/** How the live buckets stand by the records, a client at a time. Safe for threads. */
interface BucketTracks {
  /** Who counts a partition. */
  UsageTable.Owner owner(int partition);

  /**
   * The live buckets of a client, by key.
   *
   * @param partition the client's partition
   * @param atMost how many at most
   * @throws ProblemException when the partition is not counted here (any more)
   */
  List<BucketStanding> ofClient(int partition, String client, int atMost);
}
