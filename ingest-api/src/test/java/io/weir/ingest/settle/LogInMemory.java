// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.topics.calls.CallBatchWriter;
import io.weir.topics.log.CallsReader.Slice;
import io.weir.topics.log.CallsRecord;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import java.util.ArrayList;
import java.util.List;

/** A partition of batches that a test has written. Not safe for threads. */
final class LogInMemory implements PartitionReader {
  private final List<CallsRecord> batches = new ArrayList<>();
  private int end = Integer.MAX_VALUE;
  private int questions;

  /** Writes a batch. */
  void add(BatchHeader header, byte[] value, long atMillis) {
    batches.add(new CallsRecord(batches.size(), atMillis, header, value));
  }

  /** Writes heartbeats of a node, one a second. */
  void addHeartbeats(int count, BatchHeader header, long fromMillis) {
    for (int i = 0; i < count; i++) {
      add(header, new byte[0], fromMillis + i * 1_000L);
    }
  }

  /** Shows no more than so many batches. */
  void endsAt(int count) {
    end = count;
  }

  /** The number of requests so far. */
  int questions() {
    return questions;
  }

  static CallEvent call(String id, boolean allowed, long atMillis) {
    return new CallEvent(
        id,
        true,
        "acme",
        "-",
        "calls",
        8,
        allowed,
        DecidedBy.CACHE,
        null,
        1,
        atMillis,
        null,
        List.of());
  }

  static byte[] lines(CallEvent... calls) {
    return CallBatchWriter.encode(List.of(calls));
  }

  @Override
  public long begin() {
    questions++;
    return 0;
  }

  @Override
  public long end() {
    questions++;
    return size();
  }

  private int size() {
    return Math.min(end, batches.size());
  }

  @Override
  public long offsetAt(long epochMillis) {
    questions++;
    int low = 0;
    int high = size();
    while (low < high) {
      int middle = (low + high) / 2;
      if (batches.get(middle).appendEpochMillis() < epochMillis) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  @Override
  public Slice read(long offset) {
    questions++;
    List<CallsRecord> read = new ArrayList<>();
    long bytes = 0;
    int next = (int) offset;
    while (next < size() && bytes < LogConsumers.SLICE_BYTES) {
      CallsRecord batch = batches.get(next++);
      read.add(batch);
      bytes += batch.value().length;
    }
    return new Slice(read, next, bytes);
  }
}
