// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.watermark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.aggregator.count.Memory;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.PartitionProgress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class NodeWatermarksTest {
  private static final long START = 1_700_000_000_000L;
  private static final long HOLD = 5_000;
  private static final long LATENESS = 60_000;
  private static final int SEEDS = 100;
  private static final int STEPS = 400;

  @Test
  void watermark_isTheLeastOfTheLiveJournals_orElseTheGreatest() {
    for (long seed = 1; seed <= SEEDS; seed++) {
      History history = new History(seed);
      for (int step = 1; step <= STEPS; step++) {
        history.step();
        history.check("seed " + seed + " step " + step);
      }
    }
  }

  /**
   * Regression: after the release, the watermark waited for all remaining journals of the node. It
   * waited only for the newest of them after a restart.
   */
  @Test
  void watermark_limitHasReleasedTheNewestJournalOfANode_isTheSameAfterARestart() {
    Memory.Store store = new Memory.Store();
    NodeWatermarks nodes = new NodeWatermarks(HOLD, LATENESS, store);
    for (long epoch = 3; epoch >= 1; epoch--) {
      long lowWatermark = START + 10 * epoch;
      nodes.note(
          new BatchHeader("node", epoch, 9, 1, lowWatermark, 0, false),
          START + 100 - 10 * epoch,
          false);
    }
    long now = START + 1_000;
    for (int other = 1; other < NodeWatermarks.MAX_TRACKS - 1; other++) {
      nodes.note(new BatchHeader("other-" + other, 1, 9, 1, now, 0, false), now, false);
    }

    assertEquals(
        List.of(1L, 2L),
        nodes.nodes(now).stream()
            .filter(each -> each.node().equals("node"))
            .map(PartitionProgress.Node::epoch)
            .sorted()
            .toList());
    assertEquals(START + 20, nodes.watermark(now));
    assertEquals(START + 20, new NodeWatermarks(HOLD, LATENESS, store).watermark(now));
  }

  /**
   * Random records of a few nodes, with holes, departures, new epochs, late records of earlier
   * epochs, journals that return after they have left memory, and restarts.
   */
  private static final class History {
    private final Random random;
    private final Memory.Store store = new Memory.Store();
    private final Map<String, List<Long>> epochs = new HashMap<>();
    private final Map<String, Long> lines = new HashMap<>();
    private NodeWatermarks nodes;
    private long now = START;
    private long newest;

    History(long seed) {
      random = new Random(seed);
      nodes = new NodeWatermarks(HOLD, LATENESS, store);
    }

    void step() {
      now += random.nextInt(random.nextInt(20) == 0 ? 20_000 : 500);
      if (random.nextInt(200) == 0) {
        now += NodeWatermarks.PUBLISHED_AFTER_DEPARTURE_MILLIS;
      }
      String node = "node-" + random.nextInt(6);
      List<Long> all = epochs.computeIfAbsent(node, any -> new ArrayList<>(List.of(now)));
      long epoch = all.get(random.nextInt(4) == 0 ? random.nextInt(all.size()) : all.size() - 1);
      long before = lines.computeIfAbsent(node + epoch, any -> 0L);
      long lowWatermark = Math.max(0, now - random.nextInt(random.nextInt(10) == 0 ? 9_000 : 300));
      switch (random.nextInt(12)) {
        case 0 -> all.add(now);
        case 1 -> note(new BatchHeader(node, epoch, 9, 0, lowWatermark, before, true));
        case 2 -> note(new BatchHeader(node, epoch, 9, 0, lowWatermark, before, false));
        case 3 -> lines.put(node + epoch, before + 1 + random.nextInt(3)); // these lines are lost
        case 4 -> nodes = new NodeWatermarks(HOLD, LATENESS, store);
        default -> {
          int count = 1 + random.nextInt(3);
          note(new BatchHeader(node, epoch, 9, count, lowWatermark, before, false));
          lines.put(node + epoch, before + count);
        }
      }
    }

    private void note(BatchHeader header) {
      newest = Math.max(newest, nodes.note(header, now, false));
    }

    void check(String where) {
      List<PartitionProgress.Node> all = nodes.nodes(newest);
      long expected =
          all.stream()
              .filter(node -> node.state() == PartitionProgress.State.LIVE)
              .mapToLong(PartitionProgress.Node::lowWatermarkEpochMillis)
              .min()
              .orElse(
                  all.stream()
                      .mapToLong(PartitionProgress.Node::lowWatermarkEpochMillis)
                      .max()
                      .orElse(0));
      assertEquals(expected, nodes.watermark(newest), where);
      NodeWatermarks restarted = new NodeWatermarks(HOLD, LATENESS, store);
      assertEquals(expected, restarted.watermark(newest), where + " after a restart");
    }
  }
}
