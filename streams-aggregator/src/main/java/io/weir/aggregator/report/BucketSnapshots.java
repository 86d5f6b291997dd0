// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.aggregator.audit.bucket.BucketSnapshot;
import java.util.List;

/** The source of the snapshots of live buckets, by client. Thread-safe. */
interface BucketSnapshots {
  /**
   * The snapshots of a client's buckets.
   *
   * @param snapshots the live buckets, by key
   * @param isCopy whether they are read from a copy of another instance's state
   * @param lagRecords entries of the state that the copy is known to lack; 0 if it is not a copy
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
   * @param atMost the most to return
   * @throws ProblemException if the partition is not counted here, and there is no nearly complete
   *     copy of it here either
   */
  Found ofClient(int partition, String client, int atMost);
}
