// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.ingest.settle.CallFinder.Finding;
import io.weir.ingest.settle.CallFinder.Found;
import io.weir.ingest.settle.CallFinder.Placed;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.wire.CallLineCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * What has been seen of one call while the log was read, part by part. Of lines with the same
 * meaning the one that stands first in the log counts, whichever was read first. Not safe for
 * threads.
 */
final class CallTrace {
  private final CallQuery query;
  private final int partition;
  private final byte[] idBytes;
  private @Nullable Seen allowed;
  private @Nullable Seen denied;
  private @Nullable Seen settlement;
  private boolean isJournalSeen;
  private boolean isBehind;
  private boolean isToCome;

  /**
   * A line that was seen.
   *
   * @param offset of its record
   */
  private record Seen(long offset, Placed placed) {}

  /**
   * A trace that has seen nothing.
   *
   * @param partition the client's partition; a position in another one tells nothing
   */
  CallTrace(CallQuery query, int partition) {
    this.query = query;
    this.partition = partition;
    this.idBytes = query.id().getBytes(StandardCharsets.UTF_8);
  }

  /** Takes the next batch of the part being read, which stands at an offset of the log. */
  void take(long offset, BatchHeader header, byte[] value) {
    note(header);
    if (header.isHeartbeat() || !mayHoldId(value, 0, value.length)) {
      return;
    }
    int line = 0;
    for (int start = 0; start < value.length; ) {
      int end = start;
      while (end < value.length && value[end] != '\n') {
        end++;
      }
      line++;
      if (mayHoldId(value, start, end)) {
        takeLine(offset, header, value, start, end, line);
      }
      start = end + 1;
    }
  }

  /** Compares a batch's lines with the position, where they are of the same journal. */
  private void note(BatchHeader header) {
    UsagePosition at = query.position();
    if (at == null
        || at.partition() != partition
        || !at.node().equals(header.node())
        || at.nodeEpoch() != header.nodeEpoch()) {
      return;
    }
    if (!isJournalSeen) {
      isJournalSeen = true;
      isBehind = header.linesBefore() >= at.line();
    }
    isToCome = header.linesBefore() + header.count() < at.line();
  }

  private void takeLine(
      long offset, BatchHeader header, byte[] value, int start, int end, int line) {
    CallEvent found;
    try {
      found = CallLineCodec.decode(value, start, end - start);
    } catch (MalformedRecordException inQuarantine) {
      return;
    }
    if (!found.id().equals(query.id()) || !found.client().equals(query.client())) {
      return;
    }
    Placed placed =
        new Placed(
            found,
            new UsagePosition(
                partition, header.node(), header.nodeEpoch(), header.linesBefore() + line));
    if (found.settlement() != null) {
      settlement = first(settlement, new Seen(offset, placed));
    } else if (found.allowed()) {
      allowed = first(allowed, new Seen(offset, placed));
    } else {
      denied = first(denied, new Seen(offset, placed));
    }
  }

  private static Seen first(@Nullable Seen before, Seen seen) {
    return before == null || seen.offset() < before.offset() ? seen : before;
  }

  /** False when the id cannot stand there: neither in UTF-8 nor with escapes. */
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

  /** Whether an allowed call was seen; a denied one may have been retried with success. */
  boolean hasCall() {
    return allowed != null;
  }

  /**
   * Whether the call must stand before the part that was read: its node or a settlement says so.
   */
  boolean isBefore() {
    return isBehind || settlement != null;
  }

  /** Whether the position says that the call's node has not sent it yet. */
  boolean isToCome() {
    return isToCome && !hasCall() && settlement == null;
  }

  /** What was found; null when nothing was. */
  @Nullable Finding finding() {
    // a settlement repeats all that is to be known of its call
    Seen call = allowed != null ? allowed : settlement != null ? settlement : denied;
    return call == null
        ? null
        : new Found(call.placed(), settlement == null ? null : settlement.placed());
  }
}
