// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.weir.aggregator.Aggregator;
import io.weir.ingest.Ingest;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A broker, Redis, an aggregator and two ingest nodes. All servers except Redis run in this JVM.
 */
final class HealFleet implements AutoCloseable {
  private static final int NODES = 2;
  private static final int PARTITIONS = 4;
  private static final Duration READY_TIMEOUT = Duration.ofSeconds(60);

  private final Ground ground;
  private final List<Ingest> nodes = new ArrayList<>();
  private @Nullable Aggregator aggregator;

  private HealFleet(Ground ground) {
    this.ground = ground;
  }

  static HealFleet start(Path folder, String policies) throws Exception {
    HealFleet fleet = new HealFleet(Ground.start(folder, PARTITIONS, policies));
    try {
      fleet.startParts();
      return fleet;
    } catch (Throwable failed) {
      fleet.close();
      throw failed;
    }
  }

  private void startParts() throws Exception {
    Aggregator started = ground.aggregator(Map.of());
    aggregator = started;
    awaitReady(started);
    for (int i = 0; i < NODES; i++) {
      nodes.add(ground.node("node-" + i, Map.of("WEIR_DECISION_DEADLINE", "PT0.5S")));
    }
  }

  private static void awaitReady(Aggregator aggregator) throws InterruptedException {
    long deadline = System.nanoTime() + READY_TIMEOUT.toNanos();
    while (!aggregator.ready()) {
      if (System.nanoTime() > deadline) {
        throw new IllegalStateException("the aggregator is not ready in " + READY_TIMEOUT);
      }
      TimeUnit.MILLISECONDS.sleep(20);
    }
  }

  String redisUri() {
    return ground.redisUri();
  }

  /** Returns the address of the check API of each node. */
  List<String> nodeUrls() {
    return nodes.stream().map(node -> "http://127.0.0.1:" + node.httpPort()).toList();
  }

  @Override
  public void close() {
    nodes.forEach(Ingest::close);
    if (aggregator != null) {
      aggregator.close();
    }
    ground.close();
  }
}
