// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.topics.model.UsageKey;
import io.weir.topics.wire.UsageStateCodec;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Leaping over a sorted map finds what looking at each of its keys finds. */
final class WindowScanTest {
  private static final long FIRST_SEED = Long.getLong("weir.test.seed", 1);
  private static final int SEEDS = 300;
  private static final long WINDOW_MILLIS = 60_000;
  private static final List<String> CLIENTS = List.of("c", "c0", "c/m");
  private static final List<String> METERS = List.of("l", "m", "m0");
  private static final List<String> ENDPOINTS =
      List.of("a", "a b", "a/b", "a0", "GET /v1", "GET /v1/é", ":", "0", "~");

  private final TreeMap<byte[], byte[]> table = new TreeMap<>(Arrays::compareUnsigned);
  private int visits;

  private static String prefixOfMeter(UsageKey key) {
    String ofEndpoint = UsageStateCodec.prefix(new UsageKey(key.client(), key.meter(), "-"));
    return ofEndpoint.substring(0, ofEndpoint.length() - "-/".length());
  }

  private void put(UsageKey key, long start) {
    byte[] name =
        (UsageStateCodec.prefix(key) + UsageStateCodec.start(start))
            .getBytes(StandardCharsets.UTF_8);
    table.put(name, name);
  }

  private List<String> scan(UsageKey anyEndpoint, long from, long to) {
    List<String> found = new ArrayList<>();
    FollowedUsageTable.WindowScan scan =
        new FollowedUsageTable.WindowScan(
            anyEndpoint,
            from,
            to,
            (value, start) -> found.add(new String(value, StandardCharsets.UTF_8)));
    Map.Entry<byte[], byte[]> entry = table.ceilingEntry(scan.from());
    while (entry != null && Arrays.compareUnsigned(entry.getKey(), scan.to()) < 0) {
      visits++;
      byte[] next = scan.visit(entry.getKey(), entry.getValue());
      byte[] visited = entry.getKey();
      assertTrue(
          next == null || Arrays.compareUnsigned(next, visited) > 0,
          () -> "the scan goes back from " + new String(visited, StandardCharsets.UTF_8));
      entry = next == null ? table.higherEntry(entry.getKey()) : table.ceilingEntry(next);
    }
    return found;
  }

  @Test
  void scan_randomTables_findsTheWindowsOfTheInterval() {
    for (long seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      Random random = new Random(seed);
      table.clear();
      List<UsageKey> keys = new ArrayList<>();
      for (String client : CLIENTS) {
        for (String meter : METERS) {
          ENDPOINTS.forEach(endpoint -> keys.add(new UsageKey(client, meter, endpoint)));
        }
      }
      for (int i = random.nextInt(400); i > 0; i--) {
        put(keys.get(random.nextInt(keys.size())), random.nextInt(20) * WINDOW_MILLIS);
      }
      UsageKey origin = keys.get(random.nextInt(keys.size()));
      long from = random.nextInt(20) * WINDOW_MILLIS;
      long to = from + random.nextInt(20) * WINDOW_MILLIS;

      List<String> expected = new ArrayList<>();
      for (byte[] name : table.keySet()) {
        String text = new String(name, StandardCharsets.UTF_8);
        long start = Long.parseLong(text.substring(text.lastIndexOf('/') + 1));
        if (text.startsWith(prefixOfMeter(origin)) && start >= from && start < to) {
          expected.add(text);
        }
      }
      assertEquals(expected, scan(origin, from, to), "weir.test.seed=" + seed);
    }
  }

  @Test
  void scan_windowsOutsideTheInterval_areNotVisited() {
    UsageKey key = new UsageKey("c", "m", "a");
    for (int window = 0; window < 1_000; window++) {
      put(key, window * WINDOW_MILLIS);
      put(new UsageKey("c", "m", "b"), window * WINDOW_MILLIS);
    }

    assertEquals(4, scan(key, 500 * WINDOW_MILLIS, 502 * WINDOW_MILLIS).size());
    assertTrue(visits <= 8, () -> visits + " visits");
  }

  @Test
  void scan_foreignKeysOfTheClient_areSkipped() {
    put(new UsageKey("c", "m", "a"), WINDOW_MILLIS);
    put(new UsageKey("c", "m", "z"), WINDOW_MILLIS);
    for (String foreign :
        List.of("c/m/", "c/m/b", "c/m/a/", "c/m/a/:", "c/m/a/60000", "c/m/b/e/000000000060000")) {
      table.put(foreign.getBytes(StandardCharsets.UTF_8), new byte[] {'?'});
    }

    List<String> expected = List.of("c/m/a/000000000060000", "c/m/z/000000000060000");
    assertEquals(expected, scan(new UsageKey("c", "m", "a"), 0, 2 * WINDOW_MILLIS));
  }
}
