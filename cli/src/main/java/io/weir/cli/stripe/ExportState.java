// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
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
import java.util.UUID;
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
  private final Map<Integer, Long> next = new HashMap<>();
  private final Map<Integer, Long> closed = new HashMap<>();

  /** Ids of FINAL rows after the newest CLOSE row of a partition, with the end of their window. */
  private final Map<Integer, Map<UUID, Long>> finals = new HashMap<>();

  /** Ids of ADJUSTMENT rows, with the end of their window. */
  private final Map<UUID, Long> adjustments = new HashMap<>();

  /** Ids of rows that were kept and sent later, with the end of their window. */
  private final Map<UUID, Long> resent = new HashMap<>();

  /**
   * Time of the first try of each event that Stripe may or may not have. An entry stays while its
   * row is kept, independently of the mapping and of the row's age.
   */
  private final Map<UUID, Long> pending = new HashMap<>();

  /**
   * Reasons of rows that are in the file of kept rows, or may be because their batch did not end.
   * They are not sent from the topic, since --rows would send them a second time.
   */
  private final Map<UUID, RowJudge.Reason> kept = new HashMap<>();

  /** Ids of the rows that the current batch keeps. */
  private Set<UUID> keeping = new HashSet<>();

  /** Events that Stripe has, of a batch that did not end. */
  private final Set<UUID> sent = new HashSet<>();

  /** Ids of the events of the batch that has begun. */
  private Set<UUID> begun = new HashSet<>();

  /** Ids of those events that are in no earlier batch. */
  private Set<UUID> fresh = new HashSet<>();

  private ObjectNode changes = JSON.createObjectNode();
  private @Nullable String cluster;

  /** Id of the topic to which the offsets belong; null in a file without it. */
  private @Nullable String topicId;

  /** Partitions of a recreated topic whose first CLOSE row has not been read. */
  private final Set<Integer> unjoined = new HashSet<>();

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
          "the offsets in "
              + file
              + " (--state) belong to the cluster "
              + this.cluster
              + ", but WEIR_KAFKA is the cluster "
              + cluster);
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
    return Map.copyOf(next);
  }

  /**
   * Records the id of the topic. If it has changed, the topic was recreated and the old offsets are
   * invalid: all partitions are read from their beginning.
   *
   * @param count number of partitions of the topic
   * @return whether the topic was recreated
   * @throws ExportFailedException if it was recreated with another number of partitions; the state
   *     is unchanged
   */
  boolean ofTopic(String id, int count) throws ExportFailedException {
    boolean isRecreated = topicId != null && !topicId.equals(id);
    if (isRecreated) {
      requirePartitions(count);
    }
    if (!id.equals(topicId) || count != partitions) {
      append(JSON.createObjectNode().put("topic", id).put("partitions", count));
    }
    return isRecreated;
  }

  /** Exported rows are recognized in the partition of their client, which depends on the count. */
  private void requirePartitions(int count) throws ExportFailedException {
    if (count != partitions) {
      throw new ExportFailedException(
          "the ledger was recreated with "
              + count
              + " partitions instead of "
              + partitions
              + ": exported rows cannot be recognized. Recreate it with the former number of partitions");
    }
  }

  /** Records a row of the topic; returns false if it was read before. */
  boolean take(UsageRow row) {
    UUID id = UUID.fromString(row.recordId());
    int partition = row.inputPartition();
    long end = row.window().endEpochMillis();
    if (row.type() == UsageRow.Type.ADJUSTMENT) {
      note("adjustments", id, end);
      return adjustments.putIfAbsent(id, end) == null;
    }
    if (end <= closed.getOrDefault(partition, Long.MIN_VALUE)) {
      return false;
    }
    object(object(changes, "finals"), Integer.toString(partition)).put(id.toString(), end);
    return finals.computeIfAbsent(partition, none -> new HashMap<>()).putIfAbsent(id, end) == null;
  }

  /** Records a row that was kept before; returns false if it was sent since then. */
  boolean takeKept(UsageRow row) {
    return !resent.containsKey(UUID.fromString(row.recordId()));
  }

  /** Records that a row that was kept before is sent. */
  void sentKept(UsageRow row) {
    UUID id = UUID.fromString(row.recordId());
    note("resent", id, row.window().endEpochMillis());
    resent.put(id, row.window().endEpochMillis());
  }

  private void note(String member, UUID id, long windowEnd) {
    object(changes, member).put(id.toString(), windowEnd);
  }

  /**
   * Returns the boundary up to which rows were exported, if the recreated topic may lack the rows
   * between it and a CLOSE row. The first CLOSE row of a partition must not be later, because all
   * earlier windows of the topic are closed by it.
   */
  @Nullable Instant gapBefore(CloseRow row) {
    Long through = closed.get(row.inputPartition());
    boolean isGap =
        through != null
            && unjoined.contains(row.inputPartition())
            && row.closedThroughEpochMillis() > through;
    return isGap ? Instant.ofEpochMilli(through) : null;
  }

  /** Returns whether the id of an adjustment may have been forgotten. */
  static boolean isForgotten(UsageRow row, Instant now) {
    return row.type() == UsageRow.Type.ADJUSTMENT
        && row.window().endEpochMillis() < now.minus(MEMORY).toEpochMilli();
  }

  /** Records a CLOSE row. */
  void close(CloseRow row) {
    int partition = row.inputPartition();
    unjoined.remove(partition);
    long through = closed.merge(partition, row.closedThroughEpochMillis(), Math::max);
    object(changes, "closed").put(Integer.toString(partition), through);
    forgetFinals(partition);
  }

  private void forgetFinals(int partition) {
    long through = closed.getOrDefault(partition, Long.MIN_VALUE);
    finals.getOrDefault(partition, new HashMap<>()).values().removeIf(end -> end <= through);
  }

  /** Records that all rows before an offset are read. */
  void read(int partition, long nextOffset) {
    next.put(partition, nextOffset);
    object(changes, "next").put(Integer.toString(partition), nextOffset);
  }

  /** Begins a batch: from now on the events of these rows may be sent. */
  void begin(Collection<String> recordIds, Instant now) throws ExportFailedException {
    ObjectNode line = JSON.createObjectNode();
    ObjectNode begin = line.putObject("begin");
    for (String recordId : recordIds) {
      long at = pending.getOrDefault(UUID.fromString(recordId), now.toEpochMilli());
      begin.put(recordId, at);
    }
    append(line);
  }

  /** Returns whether Stripe is known to have a row's event, though its batch did not end. */
  boolean isSent(String recordId) {
    return sent.contains(UUID.fromString(recordId));
  }

  /** Returns when a row's event may have been tried first; null if Stripe cannot have it. */
  @Nullable Instant firstTried(String recordId) {
    Long at = pending.get(UUID.fromString(recordId));
    return at == null ? null : Instant.ofEpochMilli(at);
  }

  /**
   * Removes the first try of a row's event, because the user has checked that Stripe does not have
   * it.
   */
  void forgetTried(String recordId) {
    pending.remove(UUID.fromString(recordId));
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
    return kept.get(UUID.fromString(recordId));
  }

  /** Records that it is unknown after this batch whether Stripe has a row's event. */
  void uncertain(String recordId) {
    Instant at = Objects.requireNonNull(firstTried(recordId), "not begun");
    object(changes, "uncertain").put(recordId, at.toEpochMilli());
  }

  /** Ends the batch: its rows are completed. */
  void commit() throws ExportFailedException {
    ObjectNode line = JSON.createObjectNode();
    line.set("end", changes);
    append(line);
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
    ObjectNode line = JSON.createObjectNode();
    ObjectNode broken = line.putObject("broken");
    ArrayNode had = broken.putArray("sent");
    sent.forEach(event -> had.add(event.identifier()));
    ArrayNode left = broken.putArray("unsent");
    unsent.forEach(event -> left.add(event.identifier()));
    append(line);
  }

  private void append(ObjectNode line) throws ExportFailedException {
    try {
      file.append(line.toString());
    } catch (IOException failed) {
      throw file.failed(failed);
    }
    apply(line);
  }

  // ---- the lines of the file

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
      }
      topicId = id;
      partitions = line.path("partitions").asInt();
    }
    if (line.has("begin")) {
      begun = new HashSet<>();
      fresh = new HashSet<>();
      for (Map.Entry<String, JsonNode> entry : line.path("begin").properties()) {
        UUID id = UUID.fromString(entry.getKey());
        begun.add(id);
        if (pending.put(id, entry.getValue().asLong()) == null) {
          fresh.add(id);
        }
      }
    }
    if (line.has("keep")) {
      keeping = new HashSet<>();
      each(
          line.path("keep"),
          (id, reason) -> {
            keeping.add(UUID.fromString(id));
            kept.put(UUID.fromString(id), RowJudge.Reason.valueOf(reason.asText()));
          });
    }
    for (JsonNode id : line.path("broken").path("sent")) {
      sent.add(UUID.fromString(id.asText()));
    }
    for (JsonNode id : line.path("broken").path("unsent")) {
      if (fresh.contains(UUID.fromString(id.asText()))) {
        pending.remove(UUID.fromString(id.asText()));
      }
    }
    if (line.has("end")) {
      end(line.path("end"));
    }
    for (JsonNode partition : line.path("unjoined")) {
      unjoined.add(partition.asInt());
    }
  }

  private void end(JsonNode end) {
    pending.keySet().removeAll(begun);
    sent.removeAll(begun);
    begun = new HashSet<>();
    kept.keySet().removeAll(keeping);
    keeping = new HashSet<>();
    each(end.path("uncertain"), (id, at) -> pending.put(UUID.fromString(id), at.asLong()));
    each(end.path("next"), (partition, offset) -> next.put(number(partition), offset.asLong()));
    each(end.path("adjustments"), (id, at) -> adjustments.put(UUID.fromString(id), at.asLong()));
    each(end.path("resent"), (id, at) -> resent.put(UUID.fromString(id), at.asLong()));
    each(
        end.path("finals"),
        (partition, ids) -> {
          Map<UUID, Long> of = finals.computeIfAbsent(number(partition), none -> new HashMap<>());
          each(ids, (id, at) -> of.put(UUID.fromString(id), at.asLong()));
        });
    each(
        end.path("closed"),
        (partition, through) -> {
          unjoined.remove(number(partition));
          closed.merge(number(partition), through.asLong(), Math::max);
        });
    finals.keySet().forEach(this::forgetFinals);
  }

  private interface Entry {
    void visit(String name, JsonNode value);
  }

  private static void each(JsonNode object, Entry entry) {
    object.properties().forEach(each -> entry.visit(each.getKey(), each.getValue()));
  }

  private static int number(String partition) {
    return Integer.parseInt(partition);
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
    ObjectNode all = end.putObject("end");
    next.forEach((partition, at) -> object(all, "next").put(partition.toString(), at));
    closed.forEach((partition, at) -> object(all, "closed").put(partition.toString(), at));
    adjustments.forEach((id, at) -> object(all, "adjustments").put(id.toString(), at));
    resent.forEach((id, at) -> object(all, "resent").put(id.toString(), at));
    finals.forEach(
        (partition, ids) ->
            ids.forEach(
                (id, at) ->
                    object(object(all, "finals"), partition.toString()).put(id.toString(), at)));
    ObjectNode begin = JSON.createObjectNode();
    ObjectNode tried = begin.putObject("begin");
    pending.forEach((id, at) -> tried.put(id.toString(), at));
    ObjectNode broken = JSON.createObjectNode();
    ArrayNode had = broken.putObject("broken").putArray("sent");
    sent.forEach(id -> had.add(id.toString()));
    ObjectNode keep = JSON.createObjectNode();
    ObjectNode reasons = keep.putObject("keep");
    kept.forEach((id, reason) -> reasons.put(id.toString(), reason.name()));
    ObjectNode last = JSON.createObjectNode();
    ArrayNode partitionsToJoin = last.putArray("unjoined");
    unjoined.forEach(partitionsToJoin::add);
    return Stream.of(head, end, begin, broken, keep, last)
        .map(line -> line + "\n")
        .collect(Collectors.joining());
  }

  @Override
  public void close() {
    file.close();
  }
}
