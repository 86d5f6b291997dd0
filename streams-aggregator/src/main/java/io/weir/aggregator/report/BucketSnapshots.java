// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.aggregator.audit.bucket.BucketSnapshot;
import java.util.List;

/** A source of snapshots of a client's live buckets. Thread-safe. */
interface BucketSnapshots {
  /**
   * The snapshots of a client's buckets.
   *
   * @param snapshots the live buckets, by key
   * @param isCopy whether the snapshots are from a copy of another instance's state
   * @param lagRecords number of changelog records that the copy lacks; 0 if the state is not a copy
   */
  record Found(List<BucketSnapshot> snapshots, boolean isCopy, long lagRecords) {
    public Found {
      snapshots = List.copyOf(snapshots);
    }
  }

  /**
   * Returns the live buckets of a client.
   *
   * @param partition the client's partition
   * @param atMost maximum number of buckets
   * @throws ProblemException if this instance neither counts the partition nor has a nearly
   *     complete copy of the partition's state
   */
  Found ofClient(int partition, String client, int atMost);
}
