// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.servers.testing.TestCluster;
import io.weir.testing.Await;
import io.weir.testing.FullSuite;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A Redis Cluster under load, in which a primary is killed and its replica takes over, a server
 * loses its state, and slots move: every bucket is what the records say in the end.
 */
@FullSuite(
    reason =
        "six servers under load; ClusterLifeIT and ClusterReshardingIT have each fault, FlushIT the way from a loss to right buckets")
final class ClusterIT {
  private static final int CLIENTS = 150;
  private static final double CALLS_PER_SECOND = 400;
  private static final long SECONDS_OF_CALLS = (long) CALLS_PER_SECOND;
  private static final int FIRST_SLOT_OF_2 = 10_922;
  private static final int MOVED_SLOTS = 20;

  private static final Rule BURST =
      Rule.bucket("burst", "*", 70, Duration.ofMinutes(2)).debtCap(1_000);

  private static final Rule MONTHLY = Rule.quota("monthly", "*", 1_000_000);
  private static final List<Rule> RULES = List.of(BURST, MONTHLY);

  @TempDir private Path folder;

  private static Load.Call call(long n) {
    return new Load.Call("client-" + n % CLIENTS, "GET /v1/items", 1 + n % 2);
  }

  @Test
  void primaryKilled_serverFlushed_slotsMoved_bucketsAreRightAndQuotasExact() throws Exception {
    try (TestCluster cluster = TestCluster.start(3, true);
        Fleet fleet = Fleet.start(folder, RULES, 2, cluster);
        CallTopic topic = new CallTopic(fleet.kafka())) {
      try (Load load = Load.on(fleet, 8, CALLS_PER_SECOND, ClusterIT::call)) {
        load.start().awaitAnswered(5 * SECONDS_OF_CALLS);

        for (int slot = 0; slot < MOVED_SLOTS; slot++) {
          cluster.move(FIRST_SLOT_OF_2 + slot, 2, 1);
        }
        load.awaitAnswered(SECONDS_OF_CALLS);

        cluster.kill(0);
        Await.until("the replica to take over", () -> cluster.isPrimary(3));
        load.awaitAnswered(3 * SECONDS_OF_CALLS);

        cluster.command(1, "FLUSHALL");
        load.awaitAnswered(3 * SECONDS_OF_CALLS);
        load.stop();
        System.out.println("cluster: " + load);
      }
      Oracle oracle = new Oracle(RULES, topic.through(System.currentTimeMillis(), 2));
      assertTrue(oracle.buckets().size() >= 2 * CLIENTS, () -> oracle.buckets().size() + "");
      try (ClusterEye eye = new ClusterEye("redis://127.0.0.1:" + cluster.port(1))) {
        Standing.awaitRight(oracle, eye);
      }
    }
  }
}
