// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import static io.weir.e2e.chaos.Ground.BROKERS;
import static io.weir.e2e.chaos.Ground.INGEST;
import static io.weir.e2e.chaos.Ground.NETWORK;

import io.weir.e2e.audit.Expect;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/** Faults that restore an older copy of a node's disk. */
final class PutBackFaults {
  /**
   * Number of calls that Weir answers after the copy. The restored copy lacks some of these calls.
   */
  private static final int CALLS_AFTER_COPY = 300;

  private final Lasting lasting;

  PutBackFaults(Lasting lasting) {
    this.lasting = lasting;
  }

  List<Fault> all() {
    return List.of(
        Fault.of(
            "ingest killed, an older journal put back",
            Set.of(INGEST, BROKERS, NETWORK),
            this::putBack));
  }

  /** Copies the disk of a node that was killed or stopped, and later restores the copy. */
  private void putBack(Scene scene) throws Exception {
    Cluster cluster = scene.cluster();
    Member node = scene.anyIngest();
    Path data = cluster.folder().resolve(node.name());
    Path copy = cluster.folder().resolve(node.name() + "-copy-" + cluster.nextNumber());
    if (scene.random().nextBoolean()) {
      node.kill();
    } else {
      node.terminate();
    }
    copy(data, copy);
    node.start();
    long before = scene.truth().answered();
    Expect.that(
        "calls are answered after the disk was copied",
        () -> scene.truth().answered() >= before + CALLS_AFTER_COPY);
    lasting.aMoment(scene.random());
    loseDisk(scene, node);
    Cluster.deleteAll(data);
    copy(copy, data);
    node.start();
    Cluster.deleteAll(copy);
  }

  /**
   * Records the maximum number of calls that may be lost with the disk: the calls in the journal
   * before the kill, and the calls answered since then.
   */
  private static void loseDisk(Scene scene, Member node) throws Exception {
    long before = scene.truth().answered();
    long held = scene.cluster().metric(node, "weir_log_held_calls");
    node.kill();
    long atMost = held + scene.truth().answeredSince(before);
    scene.truth().goneWithDisk(node.name(), atMost);
    scene.truth().note("at most " + atMost + " calls may be lost with the disk");
  }

  private static void copy(Path from, Path to) throws IOException {
    try (Stream<Path> files = Files.walk(from)) {
      for (Path file : (Iterable<Path>) files::iterator) {
        Files.copy(file, to.resolve(from.relativize(file).toString()));
      }
    }
  }
}
