// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.topics.calls.CallBatchReader;
import io.weir.topics.log.CallsRecord;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.wire.MalformedRecordException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A scan of the audit log that selects a client's calls in an interval. Not thread-safe.
 *
 * <p>The log contains calls in the order in which nodes sent them, not in the order of their
 * decision times. So the time of a record does not determine the end of the list. Only journals
 * that were opened before the interval's end are relevant. The list is complete when the low
 * watermarks of all these journals are after the interval. If the low watermark of a journal is
 * earlier, the scan continues until the broker's time is {@link #SLACK} after the interval. The
 * list may then lack calls of that journal.
 */
final class EventScan {
  /**
   * Time after the interval for which the scan continues if a journal's low watermark is not after
   * the interval.
   */
  static final Duration SLACK = Duration.ofMinutes(10);

  /**
   * Maximum number of tracked journals. Above this maximum, all batches of the other journals count
   * as new, and the scan ends {@link #SLACK} after the interval.
   */
  static final int MAX_JOURNALS = 256;

  /**
   * Maximum number of bytes read for one page. A broker sends this number of bytes in a few
   * seconds.
   */
  static final long MAX_BYTES = 128L << 20;

  /** Maximum number of ids in memory, which the scan uses to detect repeated calls. */
  private static final int MAX_IDS = 100_000;

  /**
   * A selected call.
   *
   * @param offset offset of the record
   * @param line number of the line in the record, from 1
   * @param call the call
   * @param atEpochMillis the broker's time of the record
   * @param repeated whether the same call with the same verdict was read before
   * @param conflicting whether another call with the same id was read before
   */
  record Found(
      long offset,
      int line,
      CallEvent call,
      long atEpochMillis,
      boolean repeated,
      boolean conflicting) {}

  private final EventQuery query;
  private final Set<BatchTrail.Journal> awaited;
  private final Set<BatchTrail.Journal> departed;
  private final boolean everyLowWatermarkPassed;
  private final long maxBytes;
  private final CallBatchReader lines = new CallBatchReader();
  private final Map<BatchTrail.Journal, BatchTrail> trails = new LinkedHashMap<>();
  private final Map<String, Set<String>> callerIds = new HashMap<>();
  private int fingerprints;
  private final List<Found> found = new ArrayList<>();
  private long nextOffset;
  private int nextLine;
  private long scannedThroughEpochMillis;
  private long bytes;
  private boolean tooManyJournals;
  private boolean ended;
  private boolean complete;

  /**
   * Creates a scan that has not read a record.
   *
   * @param awaited journals whose low watermark is after the interval
   * @param departed journals that departed before the end of the interval
   * @param everyLowWatermarkPassed whether the low watermarks of all journals that may contain
   *     calls of the interval are after the interval, except departed journals. If false, the list
   *     cannot be complete
   */
  EventScan(
      EventQuery query,
      Set<BatchTrail.Journal> awaited,
      Set<BatchTrail.Journal> departed,
      boolean everyLowWatermarkPassed,
      long maxBytes) {
    this.query = query;
    this.awaited = Set.copyOf(awaited);
    this.departed = Set.copyOf(departed);
    this.everyLowWatermarkPassed = everyLowWatermarkPassed;
    this.maxBytes = maxBytes;
    EventCursor page = query.page();
    if (page != null) {
      nextOffset = page.offset();
      nextLine = page.line();
      page.trails().forEach((journal, trail) -> trails.put(journal, BatchTrail.parse(trail)));
    }
  }

  /** Processes the next record. Returns false if no more records are needed. */
  boolean take(CallsRecord record) {
    if (record.appendEpochMillis() > query.toEpochMillis() + SLACK.toMillis()) {
      ended = true;
      return false;
    }
    int done = record.offset() == nextOffset ? nextLine : 0;
    BatchHeader header = record.header();
    if (header != null) {
      boolean isNew = isNew(header, record.appendEpochMillis());
      if (isNew || done > 0) {
        int stoppedAt = takeLines(record, done);
        if (stoppedAt > 0) {
          nextOffset = record.offset();
          nextLine = stoppedAt;
          return false;
        }
      }
    }
    nextOffset = record.offset() + 1;
    nextLine = 0;
    scannedThroughEpochMillis = record.appendEpochMillis();
    bytes += record.value().length;
    if (record.appendEpochMillis() >= query.toEpochMillis() && everyJournalHasPassed()) {
      ended = true;
      complete = true;
    }
    return !ended && bytes < maxBytes && found.size() < query.limit();
  }

  private boolean isNew(BatchHeader header, long atEpochMillis) {
    BatchTrail.Journal journal = new BatchTrail.Journal(header.node(), header.nodeEpoch());
    BatchTrail trail = trails.get(journal);
    if (trail == null) {
      trail = BatchTrail.startingAt(header);
      if (trails.size() == MAX_JOURNALS) {
        tooManyJournals = true;
      } else {
        trails.put(journal, trail);
      }
    }
    return trail.take(header, atEpochMillis);
  }

  /**
   * Processes the lines of a record, except the first {@code done} lines. Returns the number of
   * processed lines if the page is full, otherwise 0.
   */
  private int takeLines(CallsRecord record, int done) {
    BatchHeader header = record.header();
    int count = header == null ? 0 : read(header, record.value());
    for (int line = done + 1; line <= count; line++) {
      CallEvent call = call(line);
      if (call != null) {
        takeCall(record, line, call);
        if (found.size() == query.limit() && line < count) {
          return line;
        }
      }
    }
    return 0;
  }

  /** Reads a value. Returns the number of lines; 0 if the record is refused as a whole. */
  private int read(BatchHeader header, byte[] value) {
    try {
      int count = lines.read(value);
      return count == header.count() ? count : 0;
    } catch (MalformedRecordException inQuarantine) {
      return 0;
    }
  }

  /** Returns the call of a line; null if the line is malformed or of another client. */
  private @Nullable CallEvent call(int line) {
    try {
      return query.client().equals(lines.client(line)) ? lines.call(line) : null;
    } catch (MalformedRecordException inQuarantine) {
      return null;
    }
  }

  private void takeCall(CallsRecord record, int line, CallEvent call) {
    boolean isSettlement = call.settlement() != null;
    boolean mayRepeat = call.idFromCaller() || isSettlement;
    String verdictAndId = (isSettlement ? "settled" : call.allowed()) + ":" + call.id();
    boolean isKnown = mayRepeat && callerIds.containsKey(verdictAndId);
    boolean repeated =
        mayRepeat && isRepeated(verdictAndId, isSettlement ? "" : call.fingerprint());
    if (query.holds(call)) {
      found.add(
          new Found(
              record.offset(),
              line,
              call,
              record.appendEpochMillis(),
              repeated,
              isKnown && !repeated));
    }
  }

  /**
   * Returns whether a call was read before. An allowed call, a denied call and a settlement with
   * the same id are not repetitions of each other. The aggregator uses the same rule when it
   * counts.
   */
  private boolean isRepeated(String verdictAndId, String fingerprint) {
    Set<String> known = callerIds.getOrDefault(verdictAndId, Set.of());
    if (known.contains(fingerprint)) {
      return true;
    }
    if (fingerprints < MAX_IDS) {
      callerIds.computeIfAbsent(verdictAndId, first -> new HashSet<>(2)).add(fingerprint);
      fingerprints++;
    }
    return false;
  }

  private boolean everyJournalHasPassed() {
    if (!everyLowWatermarkPassed || tooManyJournals || trails.isEmpty()) {
      return false;
    }
    for (BatchTrail.Journal journal : awaited) {
      if (!trails.containsKey(journal)) {
        return false;
      }
    }
    for (var trail : trails.entrySet()) {
      boolean isOlder = trail.getKey().epoch() < query.toEpochMillis();
      if (isOlder
          && !departed.contains(trail.getKey())
          && !trail.getValue().hasPassed(query.toEpochMillis())) {
        return false;
      }
    }
    return true;
  }

  /** Records that the read has reached the end of the log. */
  void logEnded() {
    ended = true;
    complete = everyJournalHasPassed();
  }

  List<Found> found() {
    return List.copyOf(found);
  }

  /**
   * Returns whether all calls of the interval were read and no further calls of the interval can
   * arrive.
   */
  boolean complete() {
    return complete;
  }

  /**
   * Returns the broker's time of the last record that was read completely, or 0 if there is none.
   */
  long scannedThroughEpochMillis() {
    return scannedThroughEpochMillis;
  }

  /** Returns the cursor of the next page, or null if this page is the last. */
  @Nullable EventCursor next() {
    if (ended) {
      return null;
    }
    Map<BatchTrail.Journal, String> written = new LinkedHashMap<>();
    trails.forEach((journal, trail) -> written.put(journal, trail.toString()));
    return new EventCursor(
        query.fromEpochMillis(), query.toEpochMillis(), nextOffset, nextLine, written);
  }
}
