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

/**
 * Faults that fill a journal: up to its maximum size, or until the disk is full. Each fault exists
 * for both values of {@code WEIR_WHEN_FULL}.
 */
final class JournalFaults {
  /**
   * The least maximum size of a journal. Without Kafka, a journal reaches this size after about 10
   * s.
   */
  private static final String SMALL_BYTES = "1048576";

  /**
   * Size of the disk. The disk is smaller than the space that RocksDB preallocates for a log. So
   * writes need free space, and fail when the disk is full.
   */
  private static final int JOURNAL_DISK_MEBIBYTES = 16;

  /**
   * Time after which the fault restarts a node that is not ready. A journal recovers in less than
   * this time.
   */
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
            "a call is answered 503 because the journal is full",
            () -> scene.truth().errors(Truth.FULL) > 0);
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
   * Compares the node's count of dropped calls with the responses. Callers know how many calls were
   * answered as not recorded, and how many calls got no response.
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
                  + " dropped calls, but the responses allow at most "
                  + after);
    }
  }

  /**
   * Runs the node on a small disk, and fills the disk. The node gets another name, because a
   * journal belongs to one node name.
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
          "a call is answered 503 because the disk is full",
          () -> scene.truth().errors(Truth.NOT_WRITTEN) > 0);
      lasting.aMoment(scene.random());
      disk.empty();
      if (!cluster.becomesReady(node, HEALING)) {
        scene
            .truth()
            .note(node.name() + " was restarted, because it did not resume writing to its journal");
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
   * Waits until Kafka has all lines that are now in the node's journal. Because callers continue,
   * the journal is never empty. Therefore this method returns when the oldest line arrived after
   * the start of the wait.
   */
  private static void awaitSent(Cluster cluster, Member node) throws Exception {
    long sinceNanos = System.nanoTime();
    Expect.that(
        node.name() + " has sent all lines of its journal",
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
