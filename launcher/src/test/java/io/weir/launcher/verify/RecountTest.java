// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.verify;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.Settlement;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.CallLineCodec;
import java.io.ByteArrayOutputStream;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.junit.jupiter.api.Test;

/** The recount's own rules, by example. */
final class RecountTest {
  private static final long NOW = 1_763_690_400_000L;
  private static final Slot SLOT = new Slot("acme", "calls", "-", NOW - NOW % 900_000, 0);

  private final Recount recount = new Recount(900_000, Duration.ofDays(35).toMillis(), 1);

  @Test
  void add_allowedAndDenied_areCountedApart() {
    recount.add(batch(1, call("1", false, 3, true, NOW), call("2", false, 4, false, NOW)));

    Tally tally = tally();
    assertEquals(3, tally.quantity);
    assertEquals(1, tally.allowed);
    assertEquals(1, tally.denied);
  }

  @Test
  void add_aBatchTwice_isCountedOnce() {
    recount.add(batch(1, call("1", false, 1, true, NOW)));
    recount.add(batch(1, call("1", false, 1, true, NOW)));

    assertEquals(1, tally().allowed);
    assertEquals(1, recount.duplicates());
  }

  @Test
  void add_aCallersIdTwice_isOneFactAVerdict() {
    recount.add(batch(1, call("own", true, 1, false, NOW), call("own", true, 1, true, NOW)));
    recount.add(batch(2, call("own", true, 1, true, NOW)));

    assertEquals(1, tally().allowed);
    assertEquals(1, tally().denied);
    assertEquals(1, recount.duplicates());
  }

  @Test
  void add_outOfTime_isRefused() {
    recount.add(
        batch(
            1,
            call("future", false, 1, true, NOW + 300_001),
            call("edge", false, 1, true, NOW),
            call("old", false, 1, true, NOW - Duration.ofDays(35).toMillis() - 1)));

    assertEquals(1, tally().allowed);
    assertEquals(2, recount.refused());
  }

  @Test
  void add_countThatDiffersFromTheLines_isRefusedAsAWhole() {
    ConsumerRecord<String, byte[]> record = batch(1, call("1", false, 1, true, NOW));
    record.headers().remove("count").add("count", new byte[] {'2'});

    recount.add(record);

    assertEquals(0, recount.tallies().size());
    assertEquals(1, recount.refused());
  }

  @Test
  void add_settlement_changesTheQuantityOfItsCallsWindow_once() {
    CallEvent call = call("1", false, 8, true, NOW);
    recount.add(batch(1, call, call.settledAt(new Settlement(12, NOW + 900_000))));
    recount.add(batch(2, call.settledAt(new Settlement(3, NOW + 900_001))));

    Tally tally = tally();
    assertEquals(12, tally.quantity);
    assertEquals(1, tally.allowed);
    assertEquals(1, recount.duplicates());
    assertEquals(call.digest() + call.settledAt(new Settlement(12, 1)).digest(), tally.digest);
  }

  @Test
  void add_settlementOfALineThatWasNotCounted_isRefused() {
    CallEvent future = call("future", false, 8, true, NOW + 400_000);
    CallEvent counted = call("counted", false, 8, true, NOW);
    recount.add(
        batch(1, future, counted, settled(future, 1), settled(counted, 2), settled(counted, 9)));

    assertEquals(3, tally().quantity);
    assertEquals(3, recount.refused());
  }

  private static CallEvent settled(CallEvent call, long line) {
    UsagePosition place = new UsagePosition(0, "n", 1, line);
    return call.settledAt(new Settlement(3, NOW + 1_000, place));
  }

  private Tally tally() {
    return recount.tallies().getOrDefault(SLOT, new Tally());
  }

  private static CallEvent call(
      String id, boolean own, long cost, boolean allowed, long decidedAtEpochMillis) {
    return new CallEvent(
        id,
        own,
        "acme",
        "-",
        "calls",
        cost,
        allowed,
        DecidedBy.CACHE,
        null,
        1,
        decidedAtEpochMillis,
        null,
        List.of());
  }

  private static ConsumerRecord<String, byte[]> batch(long sequence, CallEvent... calls) {
    ByteArrayOutputStream lines = new ByteArrayOutputStream();
    for (CallEvent call : calls) {
      lines.writeBytes(CallLineCodec.encode(call));
      lines.write('\n');
    }
    Headers headers = new RecordHeaders();
    BatchHeaderCodec.encode(new BatchHeader("n", 1, sequence, calls.length, NOW, 0, false))
        .forEach(headers::add);
    return new ConsumerRecord<>(
        "weir.calls.v1",
        0,
        sequence,
        NOW,
        TimestampType.LOG_APPEND_TIME,
        0,
        lines.size(),
        "",
        lines.toByteArray(),
        headers,
        Optional.empty());
  }
}
