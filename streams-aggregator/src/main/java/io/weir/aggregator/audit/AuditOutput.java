// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import io.weir.limits.correction.Correction;
import io.weir.topics.model.CacheRestored;
import io.weir.topics.model.PartitionAccuracy;

/** The receiver of the records that the audit of a partition publishes, in order. */
public interface AuditOutput {
  /** Publishes the state that a bucket of the decision cache should have. */
  void correction(Correction correction, long timestampEpochMillis);

  /**
   * Publishes the "restored" marker. The corrections of all live buckets were published before the
   * marker.
   */
  void restored(CacheRestored restored, long timestampEpochMillis);

  /** Publishes the numbers of wrong decisions of the cache. */
  void accuracy(PartitionAccuracy accuracy, long timestampEpochMillis);
}
