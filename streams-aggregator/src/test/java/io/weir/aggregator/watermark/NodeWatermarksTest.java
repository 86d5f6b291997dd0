// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.watermark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.aggregator.count.Memory;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.PartitionProgress;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class NodeWatermarksTest {
  private static final long START = 1_700_000_000_000L;
  private static final long HOLD = 5_000;
  private static final long LATENESS = 60_000;
  private static final int SEEDS = 200;
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

  /** Random records of a few nodes, with holes, departures, new epochs and restarts. */
  private static final class History {
    private final Random random;
    private final Memory.Store store = new Memory.Store();
    private final Map<String, Long> epochs = new HashMap<>();
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
      String node = "node-" + random.nextInt(6);
      long epoch = epochs.computeIfAbsent(node, any -> now);
      long before = lines.computeIfAbsent(node + epoch, any -> 0L);
      long lowWatermark = Math.max(0, now - random.nextInt(random.nextInt(10) == 0 ? 9_000 : 300));
      switch (random.nextInt(12)) {
        case 0 -> epochs.put(node, now);
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
    }
  }
}
