// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.aggregator.Calls;
import io.weir.aggregator.watermark.NodeWatermarks;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.PartitionProgress.Counters;
import io.weir.topics.model.PartitionProgress.State;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Journals that are opened again, go back, leave, and are many. */
final class JournalsTest {
  private static final CountSettings SETTINGS =
      new CountSettings(10_000, 2_000, 60_000, 35 * 86_400_000L);

  private static final long T = 1_700_000_000_000L;
  private static final long HOUR = 3_600_000;
  private static final long DAY = 24 * HOUR;

  private final Memory memory = new Memory(SETTINGS);
  private long now = T;

  @Test
  void journalWentBack_linesSentAgainAreDropped_andNewOnesCounted() {
    batch("n", T, 0, 0, calls("a", 3)); // lines 1 to 3
    batch("n", T, 3, 0, calls("b", 3)); // lines 4 to 6

    // a copy that knew lines 1 to 5, and not how 3 to 5 were cut
    batch("n", T, 2, 0, List.of(call("a2"), call("b0"), call("b1")));
    depart("n", T, 5, 0);
    batch("n", T + 500, 5, 5, calls("new", 4));

    assertEquals(new Counters(13, 10, 3, 0, 0), counters());
    assertEquals(State.LOST, state("n", T), "what else it held is not known");
    assertEquals(State.LIVE, state("n", T + 500));
  }

  @Test
  void journalWentBack_linesThatKafkaLacksAreCounted() {
    batch("n", T, 0, 0, calls("a", 3));
    batch("n", T, 3, 0, calls("b", 2)); // Kafka has lines up to 5, the copy up to 8

    batch(
        "n",
        T,
        2,
        0,
        List.of(call("a2"), call("b0"), call("b1"), call("c0"), call("c1"), call("c2")));
    depart("n", T, 8, 0);

    assertEquals(new Counters(11, 8, 3, 0, 0), counters());
    assertEquals(State.DEPARTED, state("n", T));
  }

  @Test
  void windowsInWhichAJournalMayHaveLostLines_areIncomplete_othersComplete() {
    batch("n", T, 0, 0, calls("a", 3));
    now += 60_000;
    depart("n", T, 2, 0); // it has gone back behind what is known
    batch("n", now, 2, 2, List.of(call("later")));
    now += 60_000;
    heartbeat("n", now - 60_000, 3, 2);

    assertFalse(memory.rows().get(0).complete());
    assertTrue(memory.rows().get(1).complete());
  }

  @Test
  void journalReopenedAfterFinalHeartbeat_windowsAreComplete() {
    batch("n", T, 0, 0, calls("a", 3));
    now += 60_000;
    depart("n", T, 3, 0);
    batch("n", now, 3, 3, List.of(call("later")));
    now += 60_000;
    heartbeat("n", now - 60_000, 4, 3);

    assertTrue(memory.rows().stream().allMatch(row -> row.complete()));
    assertEquals(State.DEPARTED, state("n", T));
  }

  @Test
  void lostEpoch_makesWindowsIncompleteUpToTheNextOpeningOnly() {
    batch("n", T, 0, 0, calls("a", 3));
    now += 60_000;
    batch("n", now, 3, 3, List.of(call("second"))); // the first epoch did not depart
    now += 600_000;
    depart("n", T + 60_000, 4, 3);
    batch("n", now, 4, 4, List.of(call("third")));
    now += 60_000;
    heartbeat("n", now - 60_000, 5, 4);

    assertFalse(memory.rows().get(0).complete());
    assertTrue(memory.rows().get(1).complete());
    assertTrue(memory.rows().get(2).complete());
  }

  @Test
  void epochAnnouncedBeforeThePreviousDeparted_holdsWindowsUntilItsFirstRecord() {
    batch("other", T, 0, 0, List.of(call("x")));
    batch("n", T, 0, 0, calls("a", 3));
    memory.take(new BatchHeader("n", T + 500, 1, 0, T, 3, 3, false), new byte[0], now); // hello
    depart("n", T, 3, 0);
    now += 30_000;
    heartbeat("other", T, 1, 0);
    assertEquals(List.of(), memory.rows(), "the new epoch may hold calls of the window");

    batch("n", T + 500, 3, 3, List.of(Calls.allowed("late", "acme", 1, T + 2)));
    heartbeat("n", T + 500, 4, 3);
    assertTrue(memory.rows().stream().allMatch(row -> row.complete()));
    assertEquals(0, counters().lateAdjusted());
  }

  @Test
  void twentyThousandDepartedPods_keepFewJournals_andEveryCallIsCounted() {
    int pods = 20_000;
    long apart = 36 * DAY / pods;
    for (int pod = 0; pod < pods; pod++) {
      now += apart;
      batch("pod-" + pod, now, 0, 0, List.of(call("c" + pod)));
      depart("pod-" + pod, now, 1, 0);
    }

    assertEquals(pods, counters().counted() + counters().lateAdjusted());
    assertEquals(0, counters().quarantined());
    int published = memory.counter.progress().nodes().size();
    assertTrue(published <= 3 * HOUR / apart, () -> published + " journals in the progress record");
  }

  @Test
  void vanishedPodsBeyondTheBound_areStillCounted_andWindowsIncomplete() {
    int pods = 3 * NodeWatermarks.MAX_TRACKS;
    for (int pod = 0; pod < pods; pod++) {
      now += 1_000;
      batch("pod-" + pod, now, 0, 0, List.of(call("c" + pod)));
    }
    assertEquals(new Counters(pods, pods, 0, 0, 0), counters());
    assertEquals(NodeWatermarks.MAX_TRACKS, memory.counter.progress().nodes().size());

    batch("pod-0", T + 1_000, 0, 0, List.of(call("c0"))); // sent again
    batch("pod-0", T + 1_000, 1, 0, List.of(call("d0"))); // and goes on

    assertEquals(1, counters().duplicate());
    assertEquals(pods + 1, counters().counted() + counters().lateAdjusted());
    memory.restart();
    batch("pod-1", T + 2_000, 0, 0, List.of(call("c1")));
    assertEquals(2, counters().duplicate());
    heartbeat("last", now, 0, 0);
    now += 2 * HOUR;
    heartbeat("last", now - 2 * HOUR, 0, 0);
    assertTrue(memory.rows().stream().noneMatch(row -> row.complete()), "all of them vanished");
  }

  @Test
  void batchOfALongDepartedPod_sentAgain_isADuplicate() {
    batch("first", T, 0, 0, calls("a", 3));
    depart("first", T, 3, 0);
    for (int pod = 0; pod < 200; pod++) {
      now += 4 * HOUR;
      batch("pod-" + pod, now, 0, 0, List.of(call("c" + pod)));
      depart("pod-" + pod, now, 1, 0);
    }
    assertTrue(
        memory.counter.progress().nodes().stream().noneMatch(node -> node.node().equals("first")));

    batch("first", T, 0, 0, calls("a", 3));

    assertEquals(3, counters().duplicate());
  }

  private CallEvent call(String id) {
    return Calls.allowed(id, "acme", 1, now);
  }

  private List<CallEvent> calls(String id, int count) {
    List<CallEvent> calls = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      calls.add(call(id + i));
    }
    return calls;
  }

  private void batch(
      String node, long epoch, long linesBefore, long linesBeforeEpoch, List<CallEvent> calls) {
    memory.take(
        new BatchHeader(node, epoch, 1, calls.size(), now, linesBefore, linesBeforeEpoch, false),
        Calls.value(calls),
        now);
  }

  private void heartbeat(String node, long epoch, long lines, long linesBeforeEpoch) {
    memory.take(
        new BatchHeader(node, epoch, 1, 0, now, lines, linesBeforeEpoch, false), new byte[0], now);
  }

  private void depart(String node, long epoch, long lines, long linesBeforeEpoch) {
    memory.take(
        new BatchHeader(node, epoch, 1, 0, now, lines, linesBeforeEpoch, true), new byte[0], now);
  }

  private Counters counters() {
    return memory.counter.progress().counters();
  }

  private State state(String node, long epoch) {
    return memory.counter.progress().nodes().stream()
        .filter(one -> one.node().equals(node) && one.epoch() == epoch)
        .map(PartitionProgress.Node::state)
        .findFirst()
        .orElseThrow();
  }
}
