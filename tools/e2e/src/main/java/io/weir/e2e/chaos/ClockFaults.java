// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import static io.weir.e2e.chaos.Ground.BROKERS;

import io.weir.e2e.audit.Expect;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/** Faults of clocks. */
final class ClockFaults {
  private static final int MOST_HOURS = 12;

  private final Lasting lasting;

  ClockFaults(Lasting lasting) {
    this.lasting = lasting;
  }

  List<Fault> all() {
    return List.of(Fault.of("broker's clock ahead", BROKERS, this::ahead));
  }

  /**
   * Sets the clock of a running broker ahead, so that records of its partitions have later times.
   * Then a restart of the broker corrects the clock. A running Kafka would stop its timers if its
   * clock stepped back.
   */
  private void ahead(Scene scene) throws Exception {
    Member broker = scene.anyBroker();
    Duration ahead = Duration.ofHours(scene.random().nextInt(1, MOST_HOURS + 1));
    scene.truth().note(broker.name() + " is ahead by " + ahead);
    scene.cluster().awaitReady(broker);
    broker.tell(Long.toString(ahead.toMillis()), BrokerMain.AHEAD + " " + ahead.toMillis());
    // the broker may have just restarted, and lead no partition
    scene.cluster().electPreferredLeaders();
    Instant atLeast = Instant.now().plus(ahead).minus(ahead.dividedBy(2));
    Expect.that(
        "a batch of calls has a timestamp in the future",
        () -> scene.cluster().newestCalls().isAfter(atLeast));
    lasting.aWhile(scene.random());
    broker.terminate();
    broker.start();
  }
}
