// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.ingest.settle.CallFinder.CallQuery;
import io.weir.ingest.settle.CallFinder.Found;
import io.weir.topics.calls.CallBatchReader;
import io.weir.topics.log.CallsRecord;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.wire.MalformedRecordException;
import org.jspecify.annotations.Nullable;

/**
 * Searches batches for the lines of one call. Keeps one line of an allowed attempt and one line of
 * a denied attempt. Not thread-safe.
 */
final class CallLineSelection {
  private final CallQuery query;
  private final int partition;
  private final CallBatchReader batch = new CallBatchReader();
  private @Nullable Found allowed;
  private @Nullable Found denied;

  /**
   * Creates an empty selection.
   *
   * @param partition the client's partition
   */
  CallLineSelection(CallQuery query, int partition) {
    this.query = query;
    this.partition = partition;
  }

  /** Examines every line of a batch. Ignores a record that is not a batch. */
  void take(CallsRecord record) {
    BatchHeader header = record.header();
    if (header != null && !header.isHeartbeat()) {
      int count = read(record.value());
      for (int line = 1; line <= count; line++) {
        takeLine(header, line);
      }
    }
  }

  /**
   * Examines one line of a batch.
   *
   * @param line the line's number in the batch, from 1
   */
  void take(BatchHeader header, byte[] value, long line) {
    if (line <= read(value)) {
      takeLine(header, Math.toIntExact(line));
    }
  }

  /**
   * Reads a batch and returns the number of its lines; 0 if the value is not a batch. Also finds a
   * call in a record that the aggregator refuses as a whole, because the aggregator then refuses
   * the settlement with a reason.
   */
  private int read(byte[] value) {
    try {
      return batch.read(value);
    } catch (MalformedRecordException notABatch) {
      return 0;
    }
  }

  private void takeLine(BatchHeader header, int line) {
    if (!query.client().equals(batch.client(line)) || !query.id().equals(batch.id(line))) {
      return;
    }
    CallEvent found;
    try {
      found = batch.call(line);
    } catch (MalformedRecordException quarantined) {
      return; // the aggregator does not count the line either
    }
    if (found.settlement() != null) {
      return;
    }
    UsagePosition position =
        new UsagePosition(
            partition, header.node(), header.nodeEpoch(), header.linesBefore() + line);
    if (found.allowed() && allowed == null) {
      allowed = new Found(found, position);
    } else if (!found.allowed() && denied == null) {
      denied = new Found(found, position);
    }
  }

  /**
   * Returns whether an allowed attempt was found. A denied attempt does not end a search, because a
   * retry may have been allowed.
   */
  boolean hasAllowed() {
    return allowed != null;
  }

  /**
   * Returns the allowed attempt if the search found one. Otherwise returns the denied attempt, or
   * null if the search found neither.
   */
  @Nullable Found found() {
    return allowed != null ? allowed : denied;
  }
}
