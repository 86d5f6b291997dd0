// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.topics.model.CloseRow;
import io.weir.topics.model.UsageRow;
import java.io.IOException;
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
 * process ended. A batch begins with {@link #begin}, whose entry states which events may be sent
 * from then on, and ends with {@link #commit}. Not thread-safe.
 *
 * <p>A reset aggregator writes rows again, and the export recognizes them. The CLOSE row of a
 * window marks all its FINAL rows as exported. A FINAL row after the newest CLOSE, and an
 * ADJUSTMENT row, are recognized by their ids.
 */
final class ExportState implements AutoCloseable {
  /**
   * Time for which ids of adjustments are kept after the end of their window. A call may be counted
   * up to 35 days late. Kafka then keeps its record for another 35 days, in which a reset
   * aggregator may count it again.
   */
  static final Duration MEMORY = Duration.ofDays(75);

  private static final ObjectMapper JSON = new ObjectMapper();

  private final StateFile file;

  // the keys are partitions or record ids, as in the file

  private final Map<String, Long> next = new HashMap<>();
  private final Map<String, Long> closed = new HashMap<>();

  /** The FINAL rows after the newest CLOSE row of a partition, with the end of their window. */
  private final Map<String, Map<String, Long>> finals = new HashMap<>();

  /** The ADJUSTMENT rows, with the end of their window. */
  private final Map<String, Long> adjustments = new HashMap<>();

  /** The rows that were kept and sent later, with the end of their window. */
  private final Map<String, Long> resent = new HashMap<>();

  /**
   * Time of the first try of each event that Stripe may or may not have. An entry stays while its
   * row is kept, independently of the mapping and of the row's age.
   */
  private final Map<String, Long> pending = new HashMap<>();

  /**
   * Reasons of rows that are in the file of kept rows, or may be because their batch did not end.
   * They are not sent from the topic, since --rows would send them a second time.
   */
  private final Map<String, RowJudge.Reason> kept = new HashMap<>();

  /** The rows that the current batch keeps. */
  private final Set<String> keeping = new HashSet<>();

  /** Events that Stripe has, of a batch that did not end. */
  private final Set<String> sent = new HashSet<>();

  /** The events of the batch that has begun. */
  private final Set<String> begun = new HashSet<>();

  /** Those of these events that are in no earlier batch. */
  private final Set<String> fresh = new HashSet<>();

  private ObjectNode changes = JSON.createObjectNode();
  private @Nullable String cluster;

  /** Id of the topic to which the offsets belong; null in a file without it. */
  private @Nullable String topicId;

  /** Partitions of a recreated topic whose first CLOSE row has not been read. */
  private final Set<String> unjoined = new HashSet<>();

  /**
   * Ids of the exported FINAL rows that a recreated topic must have before its first CLOSE row, by
   * partition. Only for partitions in which no CLOSE row was read.
   */
  private final Map<String, Set<String>> awaited = new HashMap<>();

  /** Number of partitions of that topic; 0 while the topic is unknown. */
  private int partitions;

  private @Nullable Instant since;

  private ExportState(StateFile file) {
    this.file = file;
  }

  /**
   * Reads the state.
   *
   * @param cluster id of the cluster; must be that of the file, if it exists
   * @param since rows of windows that start at or after this time are sent; null to use the file's
   *     value
   * @param now the current time
   * @throws ExportFailedException if the file cannot be read, belongs to another cluster or has
   *     another {@code since}, or is missing while {@code since} is null
   */
  static ExportState open(StateFile file, String cluster, @Nullable Instant since, Instant now)
      throws ExportFailedException {
    ExportState state = new ExportState(file);
    try {
      file.read(state::apply);
      if (state.cluster == null && file.exists()) {
        throw file.damaged(null);
      }
      state.require(cluster, since);
      state.forgetOld(now);
      file.replace(state.snapshot());
      return state;
    } catch (IOException failed) {
      throw file.failed(failed);
    }
  }

  private void require(String cluster, @Nullable Instant since) throws ExportFailedException {
    if (this.cluster == null || this.since == null) {
      if (since == null) {
        throw new ExportFailedException(
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
      throw new ExportFailedException(
          "the offsets in %s (--state) belong to the cluster %s, but WEIR_KAFKA is the cluster %s"
              .formatted(file, this.cluster, cluster));
    }
    if (since != null && !since.equals(this.since)) {
      throw new ExportFailedException(
          "the export in " + file + " (--state) has --since " + this.since + ", not " + since);
    }
  }

  /** Returns the time of the first window whose rows are sent. */
  Instant since() {
    return since == null ? Instant.EPOCH : since;
  }

  /** Returns the offset after the last one read, by partition. */
  Map<Integer, Long> next() {
    Map<Integer, Long> offsets = new HashMap<>();
    next.forEach((partition, offset) -> offsets.put(Integer.valueOf(partition), offset));
    return offsets;
  }

  /**
   * Records the id of the topic. If it has changed, the topic was recreated and the old offsets are
   * invalid: all partitions are read from their beginning. Exported rows are recognized in the
   * partition of their client, which depends on the number of partitions.
   *
   * @param count number of partitions of the topic
   * @return whether the topic was recreated
   * @throws ExportFailedException if it was recreated with another number of partitions; the state
   *     is unchanged
   */
  boolean ofTopic(String id, int count) throws ExportFailedException {
    boolean isRecreated = topicId != null && !topicId.equals(id);
    if (isRecreated && count != partitions) {
      throw new ExportFailedException(
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
    String partition = Integer.toString(row.inputPartition());
    long end = row.window().endEpochMillis();
    if (row.type() == UsageRow.Type.ADJUSTMENT) {
      object(changes, "adjustments").put(row.recordId(), end);
      return adjustments.putIfAbsent(row.recordId(), end) == null;
    }
    if (end <= closed.getOrDefault(partition, Long.MIN_VALUE)) {
      return false;
    }
    object(object(changes, "finals"), partition).put(row.recordId(), end);
    awaited.getOrDefault(partition, new HashSet<>()).remove(row.recordId());
    return finals
            .computeIfAbsent(partition, none -> new HashMap<>())
            .putIfAbsent(row.recordId(), end)
        == null;
  }

  /** Records a row that was kept before; returns false if it was sent since then. */
  boolean takeKept(UsageRow row) {
    return !resent.containsKey(row.recordId());
  }

  /** Records that a row that was kept before is sent. */
  void sentKept(UsageRow row) {
    object(changes, "resent").put(row.recordId(), row.window().endEpochMillis());
    resent.put(row.recordId(), row.window().endEpochMillis());
  }

  /**
   * Returns why the recreated topic may lack rows before a CLOSE row; null if it lacks none. The
   * first CLOSE row of a partition closes all earlier windows of the topic. So it must not be later
   * than the last CLOSE row that was exported. If there was none, all exported FINAL rows must
   * precede it again.
   */
  @Nullable String gapBefore(CloseRow row) {
    String partition = Integer.toString(row.inputPartition());
    Long through = closed.get(partition);
    if (through == null) {
      int missing = awaited.getOrDefault(partition, Set.of()).size();
      return missing == 0 ? null : "but %d exported rows do not precede it".formatted(missing);
    }
    return unjoined.contains(partition) && row.closedThroughEpochMillis() > through
        ? "but rows were exported only up to " + Instant.ofEpochMilli(through)
        : null;
  }

  /** Returns whether the id of an adjustment may have been forgotten. */
  static boolean isForgotten(UsageRow row, Instant now) {
    return row.type() == UsageRow.Type.ADJUSTMENT
        && row.window().endEpochMillis() < now.minus(MEMORY).toEpochMilli();
  }

  /** Records a CLOSE row. */
  void close(CloseRow row) {
    String partition = Integer.toString(row.inputPartition());
    unjoined.remove(partition);
    awaited.remove(partition);
    long through = closed.merge(partition, row.closedThroughEpochMillis(), Math::max);
    object(changes, "closed").put(partition, through);
    forgetClosed();
  }

  private void forgetClosed() {
    finals.forEach(
        (partition, ids) -> {
          long through = closed.getOrDefault(partition, Long.MIN_VALUE);
          ids.values().removeIf(end -> end <= through);
        });
  }

  /** Records that all rows before an offset are read. */
  void read(int partition, long nextOffset) {
    next.put(Integer.toString(partition), nextOffset);
    object(changes, "next").put(Integer.toString(partition), nextOffset);
  }

  /** Begins a batch: from now on the events of these rows may be sent. */
  void begin(Collection<String> recordIds, Instant now) throws ExportFailedException {
    ObjectNode line = JSON.createObjectNode();
    ObjectNode begin = line.putObject("begin");
    for (String recordId : recordIds) {
      begin.put(recordId, pending.getOrDefault(recordId, now.toEpochMilli()));
    }
    append(line);
  }

  /** Returns whether Stripe is known to have a row's event, though its batch did not end. */
  boolean isSent(String recordId) {
    return sent.contains(recordId);
  }

  /** Returns when a row's event may have been tried first; null if Stripe cannot have it. */
  @Nullable Instant firstTried(String recordId) {
    Long at = pending.get(recordId);
    return at == null ? null : Instant.ofEpochMilli(at);
  }

  /**
   * Removes the first try of a row's event, because the user has checked that Stripe does not have
   * it.
   */
  void forgetTried(String recordId) {
    pending.remove(recordId);
  }

  /** Records that rows are about to be kept. */
  void keep(Map<ExportedRow, RowJudge.Keep> rows) throws ExportFailedException {
    if (!rows.isEmpty()) {
      ObjectNode line = JSON.createObjectNode();
      ObjectNode keep = line.putObject("keep");
      rows.forEach((row, why) -> keep.put(row.row().recordId(), why.reason().name()));
      append(line);
    }
  }

  /** Returns why a row was kept by a batch that did not end; null if it was not. */
  RowJudge.@Nullable Reason kept(String recordId) {
    return kept.get(recordId);
  }

  /** Records that it is unknown after this batch whether Stripe has a row's event. */
  void uncertain(String recordId) {
    Instant at = Objects.requireNonNull(firstTried(recordId), "not begun");
    object(changes, "uncertain").put(recordId, at.toEpochMilli());
  }

  /** Ends the batch: its rows are completed. */
  void commit() throws ExportFailedException {
    append(line("end", changes));
    changes = JSON.createObjectNode();
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
   * @param unsent ids of the events that Stripe cannot have because of this batch
   */
  void broken(Collection<MeterEvent> sent, Collection<MeterEvent> unsent)
      throws ExportFailedException {
    ObjectNode broken = JSON.createObjectNode();
    broken.set("sent", JSON.valueToTree(sent.stream().map(MeterEvent::identifier).toList()));
    broken.set("unsent", JSON.valueToTree(unsent.stream().map(MeterEvent::identifier).toList()));
    append(line("broken", broken));
  }

  private void append(ObjectNode line) throws ExportFailedException {
    try {
      file.append(line.toString());
    } catch (IOException failed) {
      throw file.failed(failed);
    }
    apply(line);
  }

  private void apply(JsonNode line) {
    if (line.has("cluster")) {
      cluster = line.path("cluster").asText();
      since = Instant.parse(line.path("since").asText());
    }
    if (line.has("topic")) {
      String id = line.path("topic").asText();
      if (topicId != null && !topicId.equals(id)) {
        next.replaceAll((partition, offset) -> 0L);
        unjoined.addAll(closed.keySet());
        finals.forEach((partition, ids) -> await(partition, ids.keySet()));
      }
      topicId = id;
      partitions = line.path("partitions").asInt();
    }
    if (line.has("begin")) {
      Map<String, Long> events = longs(line.path("begin"));
      begun.clear();
      begun.addAll(events.keySet());
      fresh.clear();
      fresh.addAll(begun);
      fresh.removeAll(pending.keySet());
      pending.putAll(events);
    }
    if (line.has("keep")) {
      keeping.clear();
      for (Map.Entry<String, JsonNode> row : line.path("keep").properties()) {
        keeping.add(row.getKey());
        kept.put(row.getKey(), RowJudge.Reason.valueOf(row.getValue().asText()));
      }
    }
    line.path("broken").path("sent").forEach(id -> sent.add(id.asText()));
    for (JsonNode id : line.path("broken").path("unsent")) {
      if (fresh.contains(id.asText())) {
        pending.remove(id.asText());
      }
    }
    if (line.has("end")) {
      end(line.path("end"));
    }
    line.path("unjoined").forEach(partition -> unjoined.add(partition.asText()));
    for (Map.Entry<String, JsonNode> of : line.path("awaited").properties()) {
      Set<String> ids = awaited.computeIfAbsent(of.getKey(), none -> new HashSet<>());
      of.getValue().forEach(id -> ids.add(id.asText()));
    }
  }

  private void await(String partition, Set<String> recordIds) {
    if (!closed.containsKey(partition)) {
      awaited.put(partition, new HashSet<>(recordIds));
    }
  }

  private void end(JsonNode end) {
    pending.keySet().removeAll(begun);
    sent.removeAll(begun);
    begun.clear();
    kept.keySet().removeAll(keeping);
    keeping.clear();
    pending.putAll(longs(end.path("uncertain")));
    next.putAll(longs(end.path("next")));
    Map<String, Long> boundaries = longs(end.path("closed"));
    unjoined.removeAll(boundaries.keySet());
    awaited.keySet().removeAll(boundaries.keySet());
    closed.putAll(boundaries);
    adjustments.putAll(longs(end.path("adjustments")));
    resent.putAll(longs(end.path("resent")));
    for (Map.Entry<String, JsonNode> of : end.path("finals").properties()) {
      Map<String, Long> ids = longs(of.getValue());
      finals.computeIfAbsent(of.getKey(), none -> new HashMap<>()).putAll(ids);
      awaited.getOrDefault(of.getKey(), new HashSet<>()).removeAll(ids.keySet());
    }
    forgetClosed();
  }

  private static Map<String, Long> longs(JsonNode object) {
    Map<String, Long> longs = new HashMap<>();
    object.properties().forEach(each -> longs.put(each.getKey(), each.getValue().asLong()));
    return longs;
  }

  private static ObjectNode object(ObjectNode parent, String member) {
    return parent.get(member) instanceof ObjectNode object ? object : parent.putObject(member);
  }

  private void forgetOld(Instant now) {
    long oldest = now.minus(MEMORY).toEpochMilli();
    adjustments.values().removeIf(end -> end < oldest);
    resent.values().removeIf(end -> end < oldest);
  }

  /** Returns fewer lines with the same content as all lines so far. */
  private String snapshot() {
    ObjectNode head = JSON.createObjectNode();
    head.put("stripe_export", 1).put("cluster", cluster).put("since", since().toString());
    if (topicId != null) {
      head.put("topic", topicId).put("partitions", partitions);
    }
    ObjectNode end = JSON.createObjectNode();
    Map.of("next", next, "closed", closed, "adjustments", adjustments, "resent", resent)
        .forEach((member, longs) -> end.set(member, JSON.valueToTree(longs)));
    end.set("finals", JSON.valueToTree(finals));
    return Stream.of(
            head,
            line("end", end),
            line("begin", JSON.valueToTree(pending)),
            line("broken", JSON.createObjectNode().set("sent", JSON.valueToTree(sent))),
            line("keep", JSON.valueToTree(kept)),
            line("unjoined", JSON.valueToTree(unjoined.stream().map(Integer::valueOf).toList())),
            line("awaited", JSON.valueToTree(awaited)))
        .map(line -> line + "\n")
        .collect(Collectors.joining());
  }

  private static ObjectNode line(String member, JsonNode value) {
    ObjectNode line = JSON.createObjectNode();
    line.set(member, value);
    return line;
  }

  @Override
  public void close() {
    file.close();
  }
}
