// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import io.weir.limits.correction.Correction;
import io.weir.topics.model.CacheRestored;
import io.weir.topics.model.PartitionAccuracy;

/** Receives the records that the audit of a partition publishes, in order. */
public interface AuditOutput {
  /** Publishes the state that a bucket of the decision cache should have. */
  void correction(Correction correction, long timestampEpochMillis);

  /** Publishes the "restored" marker: the corrections of all live buckets precede this record. */
  void restored(CacheRestored restored, long timestampEpochMillis);

  /** Publishes how often the cache's decisions were wrong. */
  void accuracy(PartitionAccuracy accuracy, long timestampEpochMillis);
}
