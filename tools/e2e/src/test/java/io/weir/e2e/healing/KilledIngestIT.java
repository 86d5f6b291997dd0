// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.e2e.WeirProcess;
import io.weir.e2e.healing.Rule.Place;
import io.weir.testing.FullSuite;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One of two ingest nodes is killed with -9 under load, again and again. */
final class KilledIngestIT {
  private static final int KILLS = Lengths.of(1, 2, 40);
  private static final int CALLS_BETWEEN_KILLS = 400;
  private static final int CLIENTS = 20;
  private static final double CALLS_PER_SECOND = 400;

  private static final Rule BURST =
      Rule.bucket("burst", "*", 60, Duration.ofMillis(200)).debtCap(1_000);
  private static final Rule MONTHLY = Rule.quota("monthly", "*", 1_000_000);
  private static final List<Rule> RULES = List.of(BURST, MONTHLY);

  @TempDir private Path folder;

  @Test
  @FullSuite(
      reason =
          "kills a node under load; PhantomChargeIT, which always runs, makes the charges that kills"
              + " leave, and ChaosIT kills nodes")
  void ingestKilledRepeatedly_phantomChargesAreCreditedOnce() throws Exception {
    long now = System.currentTimeMillis();
    List<Place> places =
        IntStream.range(0, CLIENTS)
            .mapToObj(i -> "client-" + i)
            .flatMap(client -> Stream.of(BURST.place(client, now), MONTHLY.place(client, now)))
            .toList();
    AtomicReference<String> mortal = new AtomicReference<>();
    try (Fleet fleet = Fleet.start(folder, RULES, 1);
        RedisEye eye = new RedisEye(fleet.redis().uri());
        CallTopic topic = new CallTopic(fleet.kafka());
        BucketWatch watch = BucketWatch.start(fleet.redis().uri(), places);
        Load load =
            new Load(
                node -> node == 0 ? fleet.nodeUrls().get(0) : mortal.get(),
                2,
                16,
                CALLS_PER_SECOND,
                n -> new Load.Call("client-" + n / 2 % CLIENTS, "GET /v1/items", 1 + n % 2))) {
      WeirProcess node = startNode(fleet, mortal);
      try {
        load.start();
        for (int i = 0; i < KILLS; i++) {
          load.awaitAnswered(CALLS_BETWEEN_KILLS);
          node.kill();
          node = startNode(fleet, mortal);
        }
        load.awaitAnswered(CALLS_BETWEEN_KILLS);
        load.stop();

        System.out.println("killed: " + load);
        assertTrue(load.unanswered() > 0, "the kills met no call under way");
        Oracle oracle = new Oracle(RULES, topic.through(System.currentTimeMillis(), 2));
        Standing.awaitRight(oracle, eye);
        assertEquals(List.of(), Standing.tooFull(oracle, watch.stop()).stream().limit(5).toList());
      } finally {
        node.close();
      }
    }
  }

  private WeirProcess startNode(Fleet fleet, AtomicReference<String> url) throws Exception {
    WeirProcess node = WeirProcess.start(folder, fleet.nodeEnvironment("mortal"), "ingest");
    url.set("http://127.0.0.1:" + node.awaitLine("ingest is ready on port"));
    return node;
  }
}
