// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import static io.weir.e2e.chaos.Ground.AGGREGATORS;
import static io.weir.e2e.chaos.Ground.BROKERS;
import static io.weir.e2e.chaos.Ground.INGEST;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Faults that kill, stop or suspend processes of Weir and brokers. */
final class ProcessFaults {
  private final Lasting lasting;
  private final int brokers;

  ProcessFaults(Lasting lasting, int brokers) {
    this.lasting = lasting;
    this.brokers = brokers;
  }

  List<Fault> all() {
    List<Fault> faults =
        new ArrayList<>(
            List.of(
                Fault.of("ingest killed", INGEST, s -> killAndStart(s, s.anyIngest())),
                Fault.of("ingest stands still", INGEST, s -> standStill(s, s.anyIngest())),
                Fault.of("ingest stopped in order", INGEST, s -> restart(s.anyIngest())),
                Fault.of("both ingest nodes killed", INGEST, s -> killAll(s, s.cluster().ingest())),
                new Fault(
                    "all ingest nodes restarted in turn",
                    Set.of(INGEST),
                    true,
                    s -> restartInTurn(s, s.cluster().ingest())),
                Fault.of("aggregator killed", AGGREGATORS, s -> killAndStart(s, s.anyAggregator())),
                Fault.of(
                    "aggregator stands still", AGGREGATORS, s -> standStill(s, s.anyAggregator())),
                Fault.of(
                    "aggregator stopped in order", AGGREGATORS, s -> restart(s.anyAggregator())),
                Fault.of(
                    "both aggregators killed",
                    AGGREGATORS,
                    s -> killAll(s, s.cluster().aggregators())),
                new Fault(
                    "all aggregators restarted in turn",
                    Set.of(AGGREGATORS),
                    true,
                    s -> restartInTurn(s, s.cluster().aggregators())),
                Fault.of("aggregator's state lost", AGGREGATORS, ProcessFaults::stateLost),
                Fault.of("broker killed", BROKERS, s -> killAndStart(s, s.anyBroker())),
                Fault.of("broker stands still", BROKERS, s -> standStill(s, s.anyBroker())),
                Fault.of(
                    "brokers down, ingest node killed meanwhile",
                    Set.of(BROKERS, INGEST),
                    this::brokersAwayIngestKilled)));
    if (brokers > 1) {
      faults.add(Fault.of("all brokers killed", BROKERS, s -> killAll(s, s.cluster().brokers())));
      faults.add(Fault.of("most brokers stand still", BROKERS, this::mostBrokersStandStill));
      faults.add(
          new Fault(
              "all brokers restarted in turn",
              Set.of(BROKERS),
              true,
              s -> restartInTurn(s, s.cluster().brokers())));
    }
    return faults;
  }

  private void killAndStart(Scene scene, Member member) throws Exception {
    member.kill();
    lasting.aMoment(scene.random());
    member.start();
  }

  private static void restart(Member member) throws Exception {
    member.terminate();
    member.start();
  }

  private void standStill(Scene scene, Member member) throws Exception {
    member.pause();
    try {
      lasting.aWhile(scene.random());
    } finally {
      member.resume();
    }
  }

  private void killAll(Scene scene, List<Member> members) throws Exception {
    for (Member member : members) {
      member.kill();
      lasting.aMoment(scene.random());
    }
    Member.startAll(members);
  }

  private static void restartInTurn(Scene scene, List<Member> members) throws Exception {
    for (Member member : members) {
      restart(member);
      scene.cluster().awaitReady(member);
    }
  }

  private static void stateLost(Scene scene) throws Exception {
    Member aggregator = scene.anyAggregator();
    aggregator.kill();
    scene.cluster().deleteState(aggregator);
    aggregator.start();
  }

  /**
   * Kills ingest nodes while Kafka is unavailable. Then only the journals of these nodes have the
   * newest calls.
   */
  private void brokersAwayIngestKilled(Scene scene) throws Exception {
    for (Member broker : scene.cluster().brokers()) {
      broker.kill();
    }
    lasting.toTheEnd();
    Member node = scene.anyIngest();
    node.kill();
    Member.startAll(scene.cluster().brokers());
    node.start();
  }

  private void mostBrokersStandStill(Scene scene) throws Exception {
    List<Member> brokers = new ArrayList<>(scene.cluster().brokers());
    brokers.remove(scene.random().nextInt(brokers.size()));
    for (Member broker : brokers) {
      broker.pause();
    }
    try {
      lasting.aWhile(scene.random());
    } finally {
      for (Member broker : brokers) {
        broker.resume();
      }
    }
  }
}
