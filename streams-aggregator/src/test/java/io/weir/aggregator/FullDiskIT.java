// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.testing.Await;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An aggregator whose own disk is full for a while; Kafka's is not. */
final class FullDiskIT {
  private static final int PARTITIONS = 2;
  private static final int DISK_MEBIBYTES = 192;
  private static final int ROWS_AT_ONCE = 25_000;

  @TempDir Path folder;

  /** It is not live while its table cannot be written, and goes on by itself when there is room. */
  @Test
  void aggregator_diskFull_countsExactlyOnceThereIsRoom() throws Exception {
    Path disk = Files.createDirectories(folder.resolve("data-0"));
    String size = "size=" + DISK_MEBIBYTES + "m";
    Assumptions.assumeTrue(
        run("mount", "-t", "tmpfs", "-o", size, "tmpfs", disk.toString()) == 0,
        "a tmpfs cannot be mounted here");
    try (Broker broker = new Broker(PARTITIONS);
        Fleet fleet = new Fleet(broker, PARTITIONS, folder, 1, Fleet.SHORT_SESSION);
        Traffic traffic = new Traffic(broker, PARTITIONS, "busy")) {
      fleet.awaitAllHaveAll();
      try (Watch watch = new Watch(traffic, fleet.ports())) {
        watch.askOnlyReady();
        Await.until("figures", () -> watch.leastFigure() > 0);

        StateRows rows = new StateRows(Calls.clientOf("acme", 0, PARTITIONS));
        Path ballast = disk.resolve("ballast");
        fill(ballast);
        Await.until(
            "the table fails",
            () -> {
              rows.send(broker, ROWS_AT_ONCE);
              return !fleet.isLive(0);
            });
        Files.delete(ballast);
        Await.until("live", () -> fleet.isLive(0));
        long behind = traffic.perClient();
        Await.until("counted on", () -> watch.leastFigure() >= behind);

        traffic.stop();
        Await.until("exact figures", () -> watch.isExact(fleet.port(0)));
        traffic.awaitLedger();
        assertEquals(List.of(), watch.wrong());
      }
    } finally {
      run("umount", "-l", disk.toString());
    }
  }

  private static int run(String... command) throws IOException, InterruptedException {
    return new ProcessBuilder(command).start().waitFor();
  }

  private static void fill(Path file) throws IOException {
    byte[] block = new byte[4_096];
    try (OutputStream out = Files.newOutputStream(file)) {
      while (true) {
        out.write(block);
      }
    } catch (IOException full) {
      assertEquals("No space left on device", full.getMessage());
    }
  }
}
