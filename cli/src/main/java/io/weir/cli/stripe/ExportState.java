// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.cli.console.CommandFailedException;
import io.weir.topics.model.CloseRow;
import io.weir.topics.model.UsageRow;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The state of the export, in memory and in a {@link StateFile}. It holds the read and closed
 * position of each partition, the completed rows, and the rows that were being sent when the
 * process ended. A batch begins with {@link #begin} and ends with {@link #commit}. If the process
 * ends between these calls, the rows of the batch may have been sent. Not thread-safe.
 *
 * <p>A reset aggregator writes rows again, and the export recognizes them. The CLOSE row of a
 * window marks all FINAL rows of the window as exported. A FINAL row after the newest CLOSE, and an
 * ADJUSTMENT row, are recognized by their ids.
 */
final class ExportState implements AutoCloseable {
  /**
   * Time for which ids of adjustments are kept after the end of their window. The aggregator can
   * count a call up to 35 days late. Kafka keeps the record of the call for another 35 days, in
   * which a reset aggregator can count the call again.
   */
  static final Duration MEMORY = Duration.ofDays(75);

  private static final Set<String> MEMBERS =
      Set.of(
          "stripe_export",
          "cluster",
          "since",
          "topic",
          "partitions",
          "begin",
          "keep",
          "broken",
          "end",
          "unjoined");

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final TypeReference<Map<String, Long>> TIMES = new TypeReference<>() {};
  private static final TypeReference<Map<String, RowJudge.Reason>> REASONS =
      new TypeReference<>() {};
  private static final TypeReference<Map<Integer, Set<String>>> IDS = new TypeReference<>() {};

  private final StateFile file;

  /** The positions and rows of all batches. */
  private final ExportedRows rows = new ExportedRows();

  /** The positions and rows of the current batch. */
  private ExportedRows changes = new ExportedRows();

  /**
   * Time of the first attempt to send each event that Stripe may have. An entry stays while its row
   * is kept, independently of the mapping and of the row's age.
   */
  private final Map<String, Long> pending = new HashMap<>();

  /**
   * Reasons of rows that are in the file of kept rows, or may be because their batch did not end.
   * These rows are not sent from the topic, because --rows would send them a second time.
   */
  private final Map<String, RowJudge.Reason> kept = new HashMap<>();

  /** The rows that the current batch keeps. */
  private Set<String> keeping = Set.of();

  /** Events that Stripe has accepted from a batch that did not end. */
  private final Set<String> sent = new HashSet<>();

  /** The events of the batch that has begun. */
  private Set<String> begun = Set.of();

  /** The events of the begun batch that are in no earlier batch. */
  private Set<String> fresh = Set.of();

  private @Nullable String cluster;

  /** Id of the topic to which the offsets belong; null if the file does not state it. */
  private @Nullable String topicId;

  /**
   * The partitions of a recreated topic whose first CLOSE row has not been read. If a partition had
   * no CLOSE row before, its value has the ids of the exported FINAL rows that were not read again.
   */
  private final Map<Integer, Set<String>> unjoined = new HashMap<>();

  /** Number of partitions of that topic; 0 while the topic is unknown. */
  private int partitions;

  private @Nullable Instant since;

  private ExportState(StateFile file) {
    this.file = file;
  }

  /**
   * Opens the file and reads the state.
   *
   * @param isReadOnly whether nothing may change in the file
   * @param cluster id of the cluster; must equal the id in the file if the file exists
   * @param since rows of windows that start at or after this time are sent; null to use the file's
   *     value
   * @param now the current time
   * @throws CommandFailedException if the file cannot be read, is in use, belongs to another
   *     cluster or has another {@code since}, or is missing while {@code since} is null
   */
  static ExportState open(
      Path path, boolean isReadOnly, String cluster, @Nullable Instant since, Instant now) {
    ExportState state = new ExportState(new StateFile(path, isReadOnly));
    try {
      state.read(cluster, since, now);
      return state;
    } catch (RuntimeException failed) {
      state.close();
      throw failed;
    }
  }

  private void read(String cluster, @Nullable Instant since, Instant now) {
    try {
      file.read(this::apply);
      if (this.cluster == null && file.exists()) {
        throw file.damaged(null);
      }
      require(cluster, since);
      long oldest = now.minus(MEMORY).toEpochMilli();
      rows.adjustments.values().removeIf(end -> end < oldest);
      rows.resent.values().removeIf(end -> end < oldest);
      file.replace(snapshot());
    } catch (IOException failed) {
      throw file.failed(failed);
    }
  }

  private void require(String cluster, @Nullable Instant since) {
    if (this.cluster == null || this.since == null) {
      if (since == null) {
        throw new CommandFailedException(
            "the file "
                + file
                + " (--state), which records the sent rows, does not exist. Before the first export, set the"
                + " time of the first window: --since 2026-12-01T00:00:00Z. Do not start a new file in place of"
                + " a lost one: Stripe recognizes a repeated event only for 24 hours");
      }
      this.cluster = cluster;
      this.since = since;
      return;
    }
    if (!this.cluster.equals(cluster)) {
      throw new CommandFailedException(
          "the offsets in %s (--state) belong to the cluster %s, but WEIR_KAFKA is the cluster %s"
              .formatted(file, this.cluster, cluster));
    }
    if (since != null && !since.equals(this.since)) {
      throw new CommandFailedException(
          "the export in " + file + " (--state) has --since " + this.since + ", not " + since);
    }
  }

  /** Returns the time of the first window whose rows are sent. */
  Instant since() {
    return since == null ? Instant.EPOCH : since;
  }

  /** Returns the offset after the last record read, by partition. */
  Map<Integer, Long> next() {
    return Map.copyOf(rows.next);
  }

  /**
   * Records the id of the topic. If the id has changed, the topic was recreated and the old offsets
   * are invalid: all partitions are read from their beginning. The export recognizes exported rows
   * only in the partition of their client. That partition depends on the number of partitions.
   *
   * @param count number of partitions of the topic
   * @return whether the topic was recreated
   * @throws CommandFailedException if the topic was recreated with another number of partitions;
   *     the state then does not change
   */
  boolean ofTopic(String id, int count) {
    boolean isRecreated = topicId != null && !topicId.equals(id);
    if (isRecreated && count != partitions) {
      throw new CommandFailedException(
          ("the ledger was recreated with %d partitions instead of %d: exported rows cannot be"
                  + " recognized. Recreate it with the former number of partitions")
              .formatted(count, partitions));
    }
    if (!id.equals(topicId) || count != partitions) {
      append(JSON.createObjectNode().put("topic", id).put("partitions", count));
    }
    return isRecreated;
  }

  /** Records a row of the topic; returns false if it was read before. */
  boolean take(UsageRow row) {
    long end = row.window().endEpochMillis();
    if (row.type() == UsageRow.Type.ADJUSTMENT) {
      changes.adjustments.put(row.recordId(), end);
      return rows.adjustments.putIfAbsent(row.recordId(), end) == null;
    }
    int partition = row.inputPartition();
    if (end <= rows.closedThrough(partition)) {
      return false;
    }
    changes.finals(partition).put(row.recordId(), end);
    readAgain(partition, Set.of(row.recordId()));
    return rows.finals(partition).putIfAbsent(row.recordId(), end) == null;
  }

  private void readAgain(int partition, Set<String> recordIds) {
    unjoined.getOrDefault(partition, new HashSet<>()).removeAll(recordIds);
  }

  /** Returns whether a kept row was sent later. */
  boolean isResent(UsageRow row) {
    return rows.resent.containsKey(row.recordId());
  }

  /** Records that a kept row is sent. */
  void sentKept(UsageRow row) {
    changes.resent.put(row.recordId(), row.window().endEpochMillis());
    rows.resent.put(row.recordId(), row.window().endEpochMillis());
  }

  /**
   * Returns why the recreated topic may lack rows before a CLOSE row; null if the topic lacks no
   * rows. The first CLOSE row of a partition closes all earlier windows of the topic. So this row
   * must not be later than the last CLOSE row that was exported. If no CLOSE row was exported, all
   * exported FINAL rows must precede this row again.
   */
  @Nullable String gapBefore(CloseRow row) {
    Set<String> missing = unjoined.get(row.inputPartition());
    Long through = rows.closed.get(row.inputPartition());
    if (missing == null || through == null) {
      return missing == null || missing.isEmpty()
          ? null
          : "but %d exported rows are missing before this CLOSE row".formatted(missing.size());
    }
    return row.closedThroughEpochMillis() > through
        ? "but rows were exported only up to " + Instant.ofEpochMilli(through)
        : null;
  }

  /** Returns whether a row is an adjustment whose id the state may no longer have. */
  static boolean isForgotten(UsageRow row, Instant now) {
    return row.type() == UsageRow.Type.ADJUSTMENT
        && row.window().endEpochMillis() < now.minus(MEMORY).toEpochMilli();
  }

  void close(CloseRow row) {
    int partition = row.inputPartition();
    unjoined.remove(partition);
    long through = rows.closed.merge(partition, row.closedThroughEpochMillis(), Math::max);
    changes.closed.put(partition, through);
    rows.forgetClosed(partition);
  }

  /** Records that all rows before an offset are read. */
  void read(int partition, long nextOffset) {
    rows.next.put(partition, nextOffset);
    changes.next.put(partition, nextOffset);
  }

  /** Begins a batch: from now on the events of these rows may be sent. */
  void begin(Collection<String> recordIds, Instant now) {
    Map<String, Long> tried = new HashMap<>();
    recordIds.forEach(id -> tried.put(id, pending.getOrDefault(id, now.toEpochMilli())));
    append(line("begin", tried));
  }

  /** Returns whether Stripe has accepted a row's event from a batch that did not end. */
  boolean isSent(String recordId) {
    return sent.contains(recordId);
  }

  /** Returns the time of a row's first sending attempt; null if Stripe cannot have its event. */
  @Nullable Instant firstTried(String recordId) {
    Long at = pending.get(recordId);
    return at == null ? null : Instant.ofEpochMilli(at);
  }

  /**
   * Removes the attempts to send a row's event, because the user has checked that Stripe does not
   * have the event.
   */
  void forgetTried(String recordId) {
    pending.remove(recordId);
  }

  /** Records that rows are about to be kept. */
  void keep(Map<ExportedRow, RowJudge.Keep> toKeep) {
    if (!toKeep.isEmpty()) {
      Map<String, RowJudge.Reason> reasons = new HashMap<>();
      toKeep.forEach((row, why) -> reasons.put(row.row().recordId(), why.reason()));
      append(line("keep", reasons));
    }
  }

  /** Returns why a batch that did not end kept a row; null if no such batch kept it. */
  RowJudge.@Nullable Reason kept(String recordId) {
    return kept.get(recordId);
  }

  /** Records that it is unknown after this batch whether Stripe has a row's event. */
  void uncertain(String recordId) {
    changes.uncertain.put(recordId, Objects.requireNonNull(pending.get(recordId), "not begun"));
  }

  /** Ends the batch: its rows are completed. */
  void commit() {
    append(line("end", changes));
    changes = new ExportedRows();
    try {
      if (file.isLarge()) {
        file.replace(snapshot());
      }
    } catch (IOException failed) {
      throw file.failed(failed);
    }
  }

  /**
   * Records the results of the events of a batch that does not end.
   *
   * @param sent ids of the events that Stripe has
   * @param unsent ids of the events that this batch has not delivered to Stripe
   */
  void broken(Collection<String> sent, Collection<String> unsent) {
    append(line("broken", Map.of("sent", sent, "unsent", unsent)));
  }

  private void append(ObjectNode line) {
    try {
      file.append(line.toString());
    } catch (IOException failed) {
      throw file.failed(failed);
    }
    apply(line);
  }

  private void apply(JsonNode line) {
    for (String name : (Iterable<String>) line::fieldNames) {
      if (!MEMBERS.contains(name)) {
        throw file.unknownMember(name);
      }
    }
    if (line.has("cluster")) {
      cluster = line.path("cluster").asText();
      since = Instant.parse(line.path("since").asText());
    }
    if (line.has("topic")) {
      String id = line.path("topic").asText();
      if (topicId != null && !topicId.equals(id)) {
        readFromTheBeginning();
      }
      topicId = id;
      partitions = line.path("partitions").asInt();
    }
    if (line.has("begin")) {
      Map<String, Long> events = JSON.convertValue(line.get("begin"), TIMES);
      keeping = Set.of(); // the rows that an earlier batch kept are not of this batch
      begun = events.keySet();
      fresh = new HashSet<>(begun);
      fresh.removeAll(pending.keySet());
      pending.putAll(events);
    }
    if (line.has("keep")) {
      Map<String, RowJudge.Reason> reasons = JSON.convertValue(line.get("keep"), REASONS);
      keeping = reasons.keySet();
      kept.putAll(reasons);
    }
    line.path("broken").path("sent").forEach(id -> sent.add(id.asText()));
    for (JsonNode id : line.path("broken").path("unsent")) {
      if (fresh.contains(id.asText())) {
        pending.remove(id.asText());
      }
    }
    if (line.has("end")) {
      end(JSON.convertValue(line.get("end"), ExportedRows.class));
    }
    if (line.has("unjoined")) {
      unjoined.putAll(JSON.convertValue(line.get("unjoined"), IDS));
    }
  }

  private void readFromTheBeginning() {
    rows.next.replaceAll((partition, offset) -> 0L);
    rows.finals.forEach((partition, ids) -> unjoined.put(partition, new HashSet<>(ids.keySet())));
    rows.closed.keySet().forEach(partition -> unjoined.put(partition, new HashSet<>()));
  }

  private void end(ExportedRows batch) {
    pending.keySet().removeAll(begun);
    sent.removeAll(begun);
    begun = Set.of();
    kept.keySet().removeAll(keeping);
    keeping = Set.of();
    pending.putAll(batch.uncertain);
    unjoined.keySet().removeAll(batch.closed.keySet());
    batch.finals.forEach((partition, ids) -> readAgain(partition, ids.keySet()));
    rows.add(batch);
  }

  /** Returns the content of all lines so far, in six lines. */
  private String snapshot() {
    ObjectNode head = JSON.createObjectNode();
    head.put("stripe_export", 1).put("cluster", cluster).put("since", since().toString());
    if (topicId != null) {
      head.put("topic", topicId).put("partitions", partitions);
    }
    return Stream.of(
            head,
            line("end", rows),
            line("begin", pending),
            line("broken", Map.of("sent", sent)),
            line("keep", kept),
            line("unjoined", unjoined))
        .map(line -> line + "\n")
        .collect(Collectors.joining());
  }

  private static ObjectNode line(String member, Object value) {
    ObjectNode line = JSON.createObjectNode();
    line.set(member, JSON.valueToTree(value));
    return line;
  }

  @Override
  public void close() {
    file.close();
  }
}
