// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.aggregator.count.CountSettings;
import io.weir.limits.BillingCalendar;
import io.weir.limits.ClientCalendar;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.wire.LedgerRowCodec;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.record.TimestampType;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Changes each member in each kind of ledger row, and expects that verify finds the change. */
final class LedgerMembersTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final long BEGIN = Instant.parse("2026-11-20T10:00:00Z").toEpochMilli();
  private static final long WINDOW = 10_000;

  @TempDir private Path folder;

  private long lines;
  private long batches;

  @Test
  void countedRows_agree() throws IOException {
    assertEquals(List.of(), verified(counted()));
  }

  @Test
  void changedMemberOfTheSchema_isFound() throws IOException {
    List<String> silent = new ArrayList<>();
    CountedPartition partition = counted();
    int changed = 0;
    for (JsonNode variant : schema().path("oneOf")) {
      String type = variant.path("title").asText();
      for (String member : iterable(variant.path("properties").fieldNames())) {
        for (int row : rowsOf(type)) {
          ConsumerRecord<@Nullable String, byte @Nullable []> right = partition.ledger().get(row);
          ObjectNode flipped = (ObjectNode) JSON.readTree(right.value());
          flip(flipped, member, variant.path("properties").path(member));
          replace(partition, row, right.key(), flipped);
          changed++;
          if (verified(partition).isEmpty()) {
            silent.add(type + "." + member + ": " + flipped);
          }
          partition.ledger().set(row, right);
        }
      }
    }
    assertTrue(changed > 200, "changed " + changed);
    assertEquals(List.of(), silent);
  }

  @Test
  void changedRecordKey_isFound() throws IOException {
    for (String type : List.of("FINAL", "ADJUSTMENT", "CLOSE")) {
      for (int row : rowsOf(type)) {
        CountedPartition partition = counted();
        replace(partition, row, "other", JSON.readTree(partition.ledger().get(row).value()));

        List<String> differences = verified(partition);

        assertTrue(differences.get(0).contains("has the record key other instead of"), type);
      }
    }
  }

  /** A wrong record_id made jobs that deduplicate by it drop the row. */
  @Test
  void recordIdOfAnotherRow_isFound() throws IOException {
    CountedPartition partition = counted();
    List<Integer> rows = rowsOf("FINAL");
    JsonNode first = JSON.readTree(partition.ledger().get(rows.get(0)).value());
    ObjectNode second = (ObjectNode) JSON.readTree(partition.ledger().get(rows.get(1)).value());
    second.set("record_id", first.path("record_id"));
    replace(partition, rows.get(1), partition.ledger().get(rows.get(1)).key(), second);

    assertTrue(verified(partition).get(0).contains("has record_id"));
  }

  /** Regression: the right row was reported as a repetition of the copy, and not added. */
  @Test
  void copyInAnotherPartition_isReported_andTheRightRowIsNot() throws IOException {
    CountedPartition partition = counted();
    ConsumerRecord<@Nullable String, byte @Nullable []> right = partition.ledger().get(0);
    partition
        .ledger()
        .add(
            0,
            new ConsumerRecord<>(
                right.topic(),
                1,
                0,
                right.timestamp(),
                TimestampType.CREATE_TIME,
                0,
                0,
                right.key(),
                right.value(),
                right.headers(),
                Optional.empty()));

    List<String> differences = verified(partition);

    assertEquals(List.of("ledger 1:0 has input_partition 0"), differences);
  }

  @Test
  void closeWithoutANode_isIncomplete_andTheOppositeIsFound() throws IOException {
    CountedPartition partition = countedWithASilentNode();
    assertEquals(List.of(), verified(partition));
    int close = lastOf(partition, "CLOSE");
    ObjectNode row = (ObjectNode) JSON.readTree(partition.ledger().get(close).value());
    assertEquals(false, row.path("complete").asBoolean());

    replace(partition, close, null, row.put("complete", true));

    assertTrue(
        verified(partition).stream()
            .anyMatch(one -> one.contains("says complete true, and calls could be missing")));
  }

  private static void flip(ObjectNode row, String member, JsonNode schema) {
    JsonNode value = row.path(member);
    if (schema.has("enum")) {
      for (JsonNode other : schema.path("enum")) {
        if (!other.equals(value)) {
          row.set(member, other);
        }
      }
    } else if (member.equals("emitted_at_ms")) {
      // a clock says it: it cannot be recomputed, only bounded
      row.put(member, value.asLong() + 30 * 86_400_000_000L);
    } else if (value.isBoolean()) {
      row.put(member, !value.asBoolean());
    } else if (value.isIntegralNumber()) {
      row.put(member, value.asLong() + 1);
    } else if (value.isTextual()) {
      String text = value.asText();
      char last = text.charAt(text.length() - 1);
      row.put(member, text.substring(0, text.length() - 1) + (last == '1' ? '2' : '1'));
    } else if (schema.path("type").asText().equals("integer")) {
      row.put(member, 1);
    } else if (schema.has("const")) {
      row.set(member, schema.path("const"));
    } else {
      row.put(member, "UTC");
    }
  }

  private static void replace(
      CountedPartition partition, int row, @Nullable String key, JsonNode value)
      throws IOException {
    ConsumerRecord<@Nullable String, byte @Nullable []> old = partition.ledger().get(row);
    partition
        .ledger()
        .set(
            row,
            new ConsumerRecord<>(
                old.topic(),
                old.partition(),
                old.offset(),
                old.timestamp(),
                TimestampType.CREATE_TIME,
                0,
                0,
                key,
                JSON.writeValueAsBytes(value),
                old.headers(),
                Optional.empty()));
  }

  private List<Integer> rowsOf(String type) throws IOException {
    List<Integer> rows = new ArrayList<>();
    CountedPartition partition = counted();
    for (int row = 0; row < partition.ledger().size(); row++) {
      if (type(partition, row).equals(type)) {
        rows.add(row);
      }
    }
    assertTrue(rows.size() > 1, () -> type + " " + rows);
    // no row follows the last CLOSE, so none can contradict it
    return type.equals("CLOSE") ? rows.subList(0, rows.size() - 1) : rows;
  }

  private static int lastOf(CountedPartition partition, String type) throws IOException {
    int row = partition.ledger().size() - 1;
    while (!type(partition, row).equals(type)) {
      row--;
    }
    return row;
  }

  private static String type(CountedPartition partition, int row) throws IOException {
    return JSON.readTree(partition.ledger().get(row).value()).path("record_type").asText();
  }

  private List<String> verified(CountedPartition partition) throws IOException {
    return partition.differences(folder, BEGIN + 10 * WINDOW);
  }

  /** Two windows with rows of all kinds: FINAL, others, dated and monthly periods, adjustments. */
  private CountedPartition counted() {
    lines = 0;
    batches = 0;
    CountedPartition partition =
        new CountedPartition(
            new CountSettings(WINDOW, 2_000, 60_000, 3_600_000, 2), store -> store);
    CallEvent first = call("1", false, "acme", "GET /a", 0);
    CallEvent own = call("own", true, "acme", "GET /b", 0);
    batch(partition, 1_000, first, own, own, call("3", false, "acme", "GET /c", 0));
    batch(partition, 2_000, dated(call("4", false, "nepal", "GET /a", 0)));
    batch(partition, 11_000, call("5", false, "acme", "GET /a", WINDOW));
    batch(partition, 15_000, dated(call("6", false, "nepal", "GET /a", WINDOW)));
    batch(
        partition,
        25_000,
        call("late", false, "acme", "GET /a", 0),
        dated(call("late", false, "nepal", "GET /a", 0)),
        call("late", false, "acme", "GET /c", 0));
    UsagePosition position = new UsagePosition(0, "n", BEGIN, 1);
    batch(
        partition,
        26_000,
        first.settledAt(new CallSettlement(0, BEGIN + 26_000, position)),
        call("unheard", false, "acme", "GET /a", WINDOW));
    batch(
        partition,
        27_000,
        dated(call("4", false, "nepal", "GET /a", 0))
            .settledAt(new CallSettlement(9, BEGIN + 27_000, new UsagePosition(0, "n", BEGIN, 5))));
    return departed(partition, 45_000);
  }

  private CountedPartition countedWithASilentNode() {
    lines = 0;
    batches = 0;
    CountedPartition partition =
        new CountedPartition(
            new CountSettings(WINDOW, 2_000, 15_000, 3_600_000, 2), store -> store);
    partition.take(
        new BatchHeader("silent", BEGIN, 1, 1, BEGIN + 500, 0, false),
        List.of(call("s", false, "acme", "GET /a", 0)),
        BEGIN + 1_000);
    batch(partition, 1_000, call("1", false, "acme", "GET /a", 0));
    batch(partition, 40_000, call("2", false, "acme", "GET /a", 3 * WINDOW));
    batch(partition, 41_000, call("late", false, "acme", "GET /a", 0));
    return departed(partition, 60_000);
  }

  private CountedPartition departed(CountedPartition partition, long atMillis) {
    long at = BEGIN + atMillis;
    partition.take(new BatchHeader("n", BEGIN, batches, 0, at, lines, true), List.of(), at);
    partition.close(Integer.MAX_VALUE);
    partition.publish();
    return partition;
  }

  private void batch(CountedPartition partition, long atMillis, CallEvent... calls) {
    long at = BEGIN + atMillis;
    batches++;
    partition.take(
        new BatchHeader("n", BEGIN, batches, calls.length, at, lines, false), List.of(calls), at);
    lines += calls.length;
    partition.close(Integer.MAX_VALUE);
  }

  private static CallEvent call(
      String id, boolean fromCaller, String client, String endpoint, long windowMillis) {
    return new CallEvent(
        id,
        fromCaller,
        client,
        endpoint,
        "calls",
        3,
        true,
        DecidedBy.CACHE,
        null,
        7,
        BEGIN + windowMillis + 500,
        null,
        List.of());
  }

  private static CallEvent dated(CallEvent call) {
    BillingCalendar calendar =
        Objects.requireNonNull(
            BillingCalendar.of(
                new ClientCalendar(ZoneId.of("Asia/Kathmandu"), LocalDate.of(2026, 1, 15))));
    return call.billedIn(calendar.at(call.decidedAtEpochMillis()));
  }

  private static JsonNode schema() throws IOException {
    try (InputStream schema =
        LedgerRowCodec.class.getResourceAsStream("/io/weir/topics/schema/ledger-row.json")) {
      return JSON.readTree(Objects.requireNonNull(schema));
    }
  }

  private static List<String> iterable(java.util.Iterator<String> names) {
    List<String> all = new ArrayList<>();
    names.forEachRemaining(all::add);
    return all;
  }
}
