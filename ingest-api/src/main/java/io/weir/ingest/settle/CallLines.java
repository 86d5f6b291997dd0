// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.ingest.settle.CallFinder.Found;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.wire.CallLineCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Selects the lines of one call from batches. Not thread-safe. */
final class CallLines {
  private final CallQuery query;
  private final int partition;
  private final byte[] idBytes;
  private @Nullable Found allowed;
  private @Nullable Found denied;

  /**
   * Creates a selection that holds no line yet.
   *
   * @param partition the client's partition
   */
  CallLines(CallQuery query, int partition) {
    this.query = query;
    this.partition = partition;
    this.idBytes = query.id().getBytes(StandardCharsets.UTF_8);
  }

  /** Examines every line of a batch. */
  void take(Slice.Batch batch) {
    byte[] value = batch.value();
    if (batch.header().isHeartbeat() || !mayHoldId(value, 0, value.length)) {
      return;
    }
    int line = 0;
    for (int start = 0; start < value.length; ) {
      int end = endOfLine(value, start);
      line++;
      if (mayHoldId(value, start, end)) {
        takeLine(batch.header(), value, start, end, line);
      }
      start = end + 1;
    }
  }

  /**
   * Examines one line of a batch.
   *
   * @param number the line's number in the batch, from 1
   */
  void take(Slice.Batch batch, long number) {
    byte[] value = batch.value();
    int start = 0;
    for (int line = 1; line < number && start < value.length; line++) {
      start = endOfLine(value, start) + 1;
    }
    if (start < value.length) {
      takeLine(batch.header(), value, start, endOfLine(value, start), number);
    }
  }

  private static int endOfLine(byte[] value, int start) {
    int end = start;
    while (end < value.length && value[end] != '\n') {
      end++;
    }
    return end;
  }

  private void takeLine(BatchHeader header, byte[] value, int start, int end, long line) {
    CallEvent found;
    try {
      found = CallLineCodec.decode(value, start, end - start);
    } catch (MalformedRecordException inQuarantine) {
      return;
    }
    if (!found.id().equals(query.id())
        || !found.client().equals(query.client())
        || found.settlement() != null) {
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

  /** Returns false if the bytes cannot contain the id, neither in UTF-8 nor with escapes. */
  private boolean mayHoldId(byte[] value, int from, int to) {
    byte first = idBytes[0];
    for (int i = from; i < to; i++) {
      if (value[i] == '\\' || (value[i] == first && isIdAt(value, i, to))) {
        return true;
      }
    }
    return false;
  }

  private boolean isIdAt(byte[] value, int at, int to) {
    if (to - at < idBytes.length) {
      return false;
    }
    for (int i = 1; i < idBytes.length; i++) {
      if (value[at + i] != idBytes[i]) {
        return false;
      }
    }
    return true;
  }

  /**
   * Returns whether an allowed call was found. A denied call does not end a search, since it may
   * have been retried successfully.
   */
  boolean hasAllowed() {
    return allowed != null;
  }

  /** Returns an allowed call if one was found, otherwise a denied one, or null if neither was. */
  @Nullable Found found() {
    return allowed != null ? allowed : denied;
  }
}
