// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.topics.model.UsageKey;
import io.weir.topics.wire.UsageStateCodec;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

final class ClientScanTest {
  private final TreeMap<byte[], byte[]> table = new TreeMap<>(Arrays::compareUnsigned);
  private int visits;

  private void put(String client, String meter, String endpoint, long start) {
    String key =
        UsageStateCodec.prefix(new UsageKey(client, meter, endpoint))
            + UsageStateCodec.start(start);
    putKey(key);
  }

  private void putKey(String key) {
    table.put(key.getBytes(StandardCharsets.UTF_8), new byte[0]);
  }

  private List<String> scan(String prefix, int max) {
    FollowedUsageTable.ClientScan scan = new FollowedUsageTable.ClientScan(prefix, max);
    visits = 0;
    Map.Entry<byte[], byte[]> entry = table.ceilingEntry(scan.from());
    while (entry != null && Arrays.compareUnsigned(entry.getKey(), scan.to()) < 0) {
      visits++;
      byte[] next = scan.visit(entry.getKey(), entry.getValue());
      entry = next == null ? table.higherEntry(entry.getKey()) : table.ceilingEntry(next);
    }
    return scan.clients();
  }

  @Test
  void clients_areListedOnceInOrder_andPartitionKeysSkipped() {
    putKey("@progress/00000");
    putKey("@accuracy/00000");
    for (String client : List.of("zoe", "acme", "acme-2", "acme/eu", "@home", "acme 3", "Z", "é")) {
      put(client, "calls", "GET /", 0);
      put(client, "calls", "GET /a", 60_000);
      put(client, "bytes", "-", 0);
    }

    assertEquals(
        List.of("@home", "é", "Z", "acme 3", "acme/eu", "acme-2", "acme", "zoe"), scan("", 100));
    assertEquals(List.of("acme 3", "acme/eu", "acme-2", "acme"), scan("acme", 100));
    assertEquals(List.of("acme/eu"), scan("acme/", 100));
    assertEquals(List.of("é"), scan("é", 100));
    assertEquals(List.of(), scan("acme-3", 100));
    assertEquals(2, scan("", 2).size());
  }

  @Test
  void clientWithManyKeys_costsOneVisit() {
    for (int window = 0; window < 1_000; window++) {
      put("acme", "calls", "GET /" + window, window * 60_000L);
    }
    put("zoe", "calls", "GET /", 0);

    assertEquals(List.of("acme", "zoe"), scan("", 100));
    assertTrue(visits <= 2, () -> visits + " visits");
  }

  @Test
  void clients_foreignKeys_areSkipped() {
    for (String foreign :
        List.of("", "@", "acme", "acme/x", "%zz/calls/a/000000000000000", "b/calls/a/0")) {
      putKey(foreign);
    }
    put("acme", "calls", "GET /", 0);
    put("zoe", "calls", "GET /", 0);

    assertEquals(List.of("acme", "zoe"), scan("", 100));
  }
}
