// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.quarantine;

import io.weir.topics.calls.CallBatchReader;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.log.HeaderValues;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Replay;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.MalformedRecordException;
import io.weir.topics.wire.QuarantineHeaders;
import io.weir.topics.wire.ReplayCodec;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Splits a refusal into its lines. Determines for each line the batch in which it is sent again, or
 * why the aggregator would refuse it again.
 *
 * <p>A line that was refused alone, and in its own partition, keeps its node, epoch and position.
 * Every other line has an unreliable position: the record's headers may be wrong, or the line's own
 * partition may have another line at that position. Such a line is identified by the place of its
 * refusal. An operator may have moved a valid record to the quarantine. Such a record is sent
 * unchanged. Thread-safe.
 *
 * @param partitions number of partitions of every topic
 * @param latenessMillis maximum permitted age of a call
 */
record Dissection(int partitions, long latenessMillis, long nowEpochMillis) {
  /** Maximum time by which a call may be ahead of the broker's clock. */
  private static final long MAX_AHEAD_MILLIS = 5 * 60_000;

  private static final String MAY_BE_COUNTED = "it may have been counted already";

  /** Returns the lines of a refusal, or the record as a whole. */
  List<Candidate> of(Refusal refusal) {
    Source own = new Source(refusal.partition(), refusal.sourceOffset(), refusal.line());
    if (!refusal.isWhole()) {
      return List.of(
          Candidate.staying(own, null, refusal.value(), "not all of its parts are present"));
    }
    BatchHeader header = null;
    Replay replay = null;
    try {
      Function<String, byte @Nullable []> headers = HeaderValues.of(refusal.headers());
      replay = ReplayCodec.decode(headers);
      header = BatchHeaderCodec.decode(headers);
    } catch (MalformedRecordException damaged) {
      header = null; // the record's lines may be valid
    }
    CallBatchReader lines = new CallBatchReader();
    try {
      lines.read(refusal.value());
    } catch (MalformedRecordException notABatch) {
      return List.of(staysMalformed(own, refusal.value(), notABatch));
    }
    if (refusal.line() > 0) {
      return List.of(
          lines.count() == 1
              ? line(refusal, header, replay, refusal.line(), lines, 1)
              : staysWithLines(own, refusal, lines));
    }
    boolean isSingleLines = replay != null && !replay.isWhole();
    if (header != null && header.count() == lines.count() && !isSingleLines) {
      Source first = replay == null ? own : new Source(replay.partition(), replay.offset(), 0);
      return List.of(record(refusal, header, first, lines));
    }
    if (lines.count() == 0) {
      return List.of(staysWithLines(own, refusal, lines));
    }
    List<Candidate> candidates = new ArrayList<>();
    for (int number = 1; number <= lines.count(); number++) {
      BatchHeader known = isSingleLines ? header : null;
      candidates.add(line(refusal, known, replay, number, lines, number));
    }
    return candidates;
  }

  private static Candidate staysMalformed(
      Source source, byte[] bytes, MalformedRecordException malformed) {
    return Candidate.staying(source, null, bytes, "malformed: " + malformed.getMessage());
  }

  private static Candidate staysWithLines(Source source, Refusal refusal, CallBatchReader lines) {
    return Candidate.staying(source, null, refusal.value(), "it has " + lines.count() + " lines");
  }

  private Candidate record(
      Refusal refusal, BatchHeader header, Source source, CallBatchReader lines) {
    Set<String> clients = new HashSet<>();
    for (int line = 1; line <= lines.count(); line++) {
      clients.add(Objects.requireNonNullElse(lines.client(line), ""));
    }
    String client = clients.size() == 1 ? clients.iterator().next() : null;
    String stays = header.isHeartbeat() ? "it has no call" : stays(refusal);
    Replay replay = new Replay(source.partition(), source.offset(), 0);
    return new Candidate(
        source,
        client,
        null,
        false,
        refusal.value(),
        stays == null ? new Candidate.Batch(refusal.partition(), header, replay) : null,
        stays,
        null);
  }

  /**
   * Returns the candidate for one line.
   *
   * @param header header of the batch that contains the line; null if unknown
   * @param number number of the line in the refused record
   * @param line number of the line in the value of the refusal
   */
  private Candidate line(
      Refusal refusal,
      @Nullable BatchHeader header,
      @Nullable Replay replay,
      int number,
      CallBatchReader lines,
      int line) {
    byte[] bytes = lines.only(line);
    Source source =
        replay == null || replay.isWhole()
            ? new Source(refusal.partition(), refusal.sourceOffset(), number)
            : new Source(replay.partition(), replay.offset(), replay.firstLine() + number - 1);
    CallEvent call;
    try {
      call = lines.call(line);
    } catch (MalformedRecordException malformed) {
      return staysMalformed(source, bytes, malformed);
    }
    String stays = stays(refusal);
    stays = stays == null ? stays(call) : stays;
    int partition = ClientPartitioner.partition(call.client(), partitions);
    BatchHeader at =
        header != null && partition == refusal.partition() ? only(header, number) : named(source);
    return new Candidate(
        source,
        call.client(),
        call.id(),
        call.settlement() != null,
        bytes,
        stays == null
            ? new Candidate.Batch(
                partition, at, new Replay(source.partition(), source.offset(), source.line()))
            : null,
        stays,
        call);
  }

  private static BatchHeader only(BatchHeader header, int line) {
    return new BatchHeader(
        header.node(),
        header.nodeEpoch(),
        header.batchSequence(),
        1,
        header.lowWatermarkEpochMillis(),
        header.linesBefore() + line - 1,
        header.departing());
  }

  private static BatchHeader named(Source source) {
    Replay replay = new Replay(source.partition(), source.offset(), source.line());
    return new BatchHeader(replay.journal(), source.offset(), 1, 1, 0, source.line() - 1L, true);
  }

  private @Nullable String stays(Refusal refusal) {
    if (refusal.reason().endsWith(QuarantineHeaders.TOO_OLD_FOR_DUPLICATE_DETECTION)) {
      return MAY_BE_COUNTED;
    }
    return refusal.refusedAtEpochMillis() < nowEpochMillis - latenessMillis
        ? "it was refused longer than WEIR_LATENESS ago, so " + MAY_BE_COUNTED
        : null;
  }

  private @Nullable String stays(CallEvent call) {
    long decidedAt = call.decidedAtEpochMillis();
    if (decidedAt < nowEpochMillis - latenessMillis) {
      return "decided at " + Instant.ofEpochMilli(decidedAt) + ", longer than WEIR_LATENESS ago";
    }
    return decidedAt > nowEpochMillis + MAX_AHEAD_MILLIS
        ? "decided at "
            + Instant.ofEpochMilli(decidedAt)
            + ", more than 5 min in the future: replay the line after that time"
        : null;
  }
}
