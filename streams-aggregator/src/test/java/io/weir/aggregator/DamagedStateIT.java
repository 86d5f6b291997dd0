// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.testing.Await;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An aggregator whose disk has flipped bits in its copies of what Kafka holds. */
final class DamagedStateIT {
  private static final int PARTITIONS = 2;

  @TempDir Path folder;

  /** Regression: the aggregator ended, though its folder is only a copy. */
  @Test
  void flippedBits_inTheTableAndInTheCountingsStores_areReplacedFromKafka() throws Exception {
    try (Broker broker = new Broker(PARTITIONS);
        Fleet fleet = new Fleet(broker, PARTITIONS, folder, 1, Fleet.SHORT_SESSION);
        Traffic traffic = new Traffic(broker, PARTITIONS, "busy")) {
      fleet.awaitAllHaveAll();
      try (Watch watch = new Watch(traffic, fleet.ports())) {
        watch.askOnlyReady();
        Await.until("figures", () -> watch.leastFigure() > 0);
        restart(fleet, List.of());
        Path data = folder.resolve("data-0");
        restart(fleet, List.of(data.resolve("usage"), data.resolve("streams")));
        long written = traffic.perClient();
        Await.until("counted on", () -> watch.leastFigure() >= written);
        traffic.stop();
        Await.until("exact figures", () -> watch.isExact(fleet.port(0)));
        traffic.awaitLedger();
        assertEquals(List.of(), watch.wrong());
        assertTrue(Files.exists(data.resolve("usage.damaged")), fleet.log(0));
        assertTrue(fleet.log(0).contains("usage table is damaged"), fleet.log(0));
      }
    }
  }

  private static void restart(Fleet fleet, List<Path> damaged) throws Exception {
    fleet.member(0).terminate();
    for (Path each : damaged) {
      assertTrue(flip(each) > 0, () -> "no files in " + each);
    }
    fleet.member(0).restart();
    fleet.awaitCaughtUp(0);
  }

  /** Flips a bit in the data of each file of rows; returns how many there are. */
  private static int flip(Path damaged) throws IOException {
    List<Path> files;
    try (Stream<Path> all = Files.walk(damaged)) {
      files = all.filter(file -> file.toString().endsWith(".sst")).toList();
    }
    for (Path file : files) {
      byte[] bytes = Files.readAllBytes(file);
      bytes[20] ^= 1;
      Files.write(file, bytes);
    }
    return files.size();
  }
}
