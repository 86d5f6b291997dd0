// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.aggregator.audit.BucketSnapshot;
import java.util.List;

/** How the live buckets stand by the records, a client at a time. Safe for threads. */
interface BucketSnapshots {
  /**
   * What is known of a client's buckets.
   *
   * @param snapshots the live buckets, by key
   * @param isCopy whether they are read from a copy of another instance's state
   * @param lagRecords entries of the state that the copy is known to lack; 0 when it is no copy
   */
  record Found(List<BucketSnapshot> snapshots, boolean isCopy, long lagRecords) {
    public Found {
      snapshots = List.copyOf(snapshots);
    }
  }

  /**
   * The live buckets of a client.
   *
   * @param partition the client's partition
   * @param atMost how many at most
   * @throws ProblemException when the partition is not counted here, nor is a copy of it that is
   *     nearly complete
   */
  Found ofClient(int partition, String client, int atMost);
}
