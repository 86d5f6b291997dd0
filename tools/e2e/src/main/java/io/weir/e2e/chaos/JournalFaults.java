// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import static io.weir.e2e.chaos.Ground.INGEST;
import static io.weir.e2e.chaos.Ground.NETWORK;

import io.weir.e2e.SmallDisk;
import io.weir.e2e.audit.Expect;
import io.weir.e2e.audit.Truth;
import io.weir.e2e.chaos.Relay.Weather;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** Faults of a full journal, because of its bound or a full disk, in both modes. */
final class JournalFaults {
  /** The minimum bound, which is reached after about 10 s without Kafka. */
  private static final String SMALL_BYTES = "1048576";

  /**
   * Size of the disk. It is less than RocksDB preallocates for a log, so that each write needs more
   * space.
   */
  private static final int JOURNAL_DISK_MEBIBYTES = 16;

  /** Time after which the node is restarted. It is longer than a journal needs to recover. */
  private static final Duration HEALING = Duration.ofSeconds(15);

  private final Lasting lasting;

  JournalFaults(Lasting lasting) {
    this.lasting = lasting;
  }

  List<Fault> all() {
    return List.of(
        Fault.of(
            "journal at its bound, reject", Set.of(INGEST, NETWORK), s -> atBound(s, "reject")),
        Fault.of("journal at its bound, drop", Set.of(INGEST, NETWORK), s -> atBound(s, "drop")),
        Fault.of("journal's disk full, reject", INGEST, s -> diskFull(s, "reject")),
        Fault.of("journal's disk full, drop", INGEST, s -> diskFull(s, "drop")));
  }

  private void atBound(Scene scene, String whenFull) throws Exception {
    Member node = scene.anyIngest();
    node.terminate();
    node.override(Map.of("WEIR_JOURNAL_MAX_BYTES", SMALL_BYTES, "WEIR_WHEN_FULL", whenFull));
    node.start();
    List<Relay> toBrokers = scene.cluster().network().between(node.name(), "broker");
    toBrokers.forEach(relay -> relay.set(Weather.CUT));
    try {
      if (whenFull.equals("reject")) {
        Expect.that(
            "a call is answered 503 for want of room", () -> scene.truth().errors(Truth.FULL) > 0);
      } else {
        Expect.that("a call is dropped", () -> scene.truth().droppedCount() > 0);
      }
      lasting.aMoment(scene.random());
    } finally {
      toBrokers.forEach(relay -> relay.set(Weather.FAIR));
    }
    scene.cluster().awaitReady(node);
    compareDrops(scene, node);
    node.terminate();
    node.override(Map.of());
    node.start();
  }

  /**
   * Compares the node's count of lost calls with the responses: the calls answered as not recorded,
   * and the calls without a response.
   */
  private static void compareDrops(Scene scene, Member node) throws Exception {
    // callers continue, so dropped calls are counted before and after
    long before = scene.truth().droppedCount();
    long counted = scene.cluster().metric(node, "weir_log_dropped_calls_total");
    long after = scene.truth().droppedAtMost();
    if (counted < before || counted > after) {
      scene
          .truth()
          .wrong(
              node.name()
                  + " counts "
                  + counted
                  + " dropped calls, callers were told at most "
                  + after);
    }
  }

  /**
   * Uses a separate small disk and a separate node name, because a journal belongs to one node
   * name.
   */
  private void diskFull(Scene scene, String whenFull) throws Exception {
    Cluster cluster = scene.cluster();
    Member node = scene.anyIngest();
    String name = node.name() + "-small-" + cluster.nextNumber();
    try (SmallDisk disk = SmallDisk.mount(cluster.folder().resolve(name), JOURNAL_DISK_MEBIBYTES)) {
      node.terminate();
      node.override(
          Map.of(
              "WEIR_NODE", name,
              "WEIR_DATA", disk.folder().toString(),
              "WEIR_WHEN_FULL", whenFull));
      node.start();
      lasting.aMoment(scene.random());
      disk.fill();
      Expect.that(
          "a call is answered 503, since the disk is full",
          () -> scene.truth().errors(Truth.NOT_WRITTEN) > 0);
      lasting.aMoment(scene.random());
      disk.empty();
      if (!cluster.becomesReady(node, HEALING)) {
        scene.truth().note(node.name() + " was restarted to write its journal again");
        restartUntilEmpty(scene, node);
      }
      awaitSent(cluster, node);
      node.terminate();
      node.override(Map.of());
      node.start();
    } catch (SmallDisk.NoDiskException unable) {
      scene.truth().note("not done: " + unable.getMessage());
    }
  }

  /**
   * Waits until Kafka has all lines that a node has now. Callers continue, so the node always has
   * some lines. Therefore the oldest line must be younger than this wait.
   */
  private static void awaitSent(Cluster cluster, Member node) throws Exception {
    long sinceNanos = System.nanoTime();
    Expect.that(
        node.name() + " has sent all it held",
        () -> {
          long waitedMillis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - sinceNanos);
          return cluster.metric(node, "weir_log_oldest_unacked_ms") < waitedMillis;
        });
  }

  private static void restartUntilEmpty(Scene scene, Member node) throws Exception {
    node.terminate();
    node.start();
    scene.cluster().awaitReady(node);
  }
}
