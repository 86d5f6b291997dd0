// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import static io.weir.e2e.chaos.Ground.NETWORK;

import io.weir.e2e.chaos.Relay.Weather;
import java.util.ArrayList;
import java.util.List;

/** Faults of the network between two processes: cut, stalled, or slow. */
final class NetworkFaults {
  private final Lasting lasting;
  private final int brokers;

  /** Selects connections. */
  private interface Choice {
    List<Relay> of(Scene scene);
  }

  NetworkFaults(Lasting lasting, int brokers) {
    this.lasting = lasting;
    this.brokers = brokers;
  }

  List<Fault> all() {
    List<Fault> faults = new ArrayList<>();
    add(faults, "ingest, Redis", s -> between(s, s.anyIngest().name(), "redis"));
    add(faults, "ingest, all brokers", s -> between(s, s.anyIngest().name(), "broker"));
    add(faults, "aggregator, all brokers", s -> between(s, s.anyAggregator().name(), "broker"));
    add(faults, "aggregator, aggregator", s -> between(s, "aggregators", s.anyAggregator().name()));
    add(faults, "callers, ingest", s -> between(s, "callers", s.anyIngest().name()));
    if (brokers > 1) {
      add(faults, "ingest, a broker", s -> between(s, s.anyIngest().name(), s.anyBroker().name()));
      add(
          faults,
          "aggregator, a broker",
          s -> between(s, s.anyAggregator().name(), s.anyBroker().name()));
      add(faults, "brokers, a broker", s -> between(s, "brokers", s.anyBroker().name()));
    }
    faults.add(Fault.of("network slow", NETWORK, s -> disturb(s, everything(s), Weather.SLOW)));
    faults.add(beyondSessions("cut", Weather.CUT));
    faults.add(beyondSessions("still", Weather.STILL));
    return faults;
  }

  private void add(List<Fault> faults, String pair, Choice choice) {
    faults.add(Fault.of("cut: " + pair, NETWORK, s -> disturb(s, choice.of(s), Weather.CUT)));
    faults.add(Fault.of("still: " + pair, NETWORK, s -> disturb(s, choice.of(s), Weather.STILL)));
  }

  /**
   * Creates a fault that outlasts the session of an aggregator. Then Kafka has assigned the
   * aggregator's partitions to another instance, and has fenced the aggregator's transactions.
   */
  private Fault beyondSessions(String how, Weather weather) {
    return Fault.of(
        how + ": aggregator, all brokers, longer than its session",
        NETWORK,
        scene -> {
          List<Relay> relays = between(scene, scene.anyAggregator().name(), "broker");
          set(relays, weather);
          try {
            lasting.beyondSessions();
          } finally {
            calm(scene, relays);
          }
        });
  }

  private static List<Relay> between(Scene scene, String from, String to) {
    return scene.cluster().network().between(from, to);
  }

  /** Returns the relays of all connections of an ingest node and an aggregator. */
  private static List<Relay> everything(Scene scene) {
    List<Relay> relays = new ArrayList<>();
    relays.addAll(between(scene, scene.anyIngest().name(), ""));
    relays.addAll(between(scene, scene.anyAggregator().name(), ""));
    return relays;
  }

  private void disturb(Scene scene, List<Relay> relays, Weather weather) throws Exception {
    set(relays, weather);
    try {
      lasting.aWhile(scene.random());
    } finally {
      calm(scene, relays);
    }
  }

  private static void set(List<Relay> relays, Weather weather) {
    for (Relay relay : relays) {
      relay.set(weather);
    }
  }

  /**
   * Restores the relays. Bytes sent during the fault arrive late. In half of the cases, chosen at
   * random, this method resets the connections, and these bytes are lost.
   */
  private static void calm(Scene scene, List<Relay> relays) {
    boolean forgets = scene.random().nextBoolean();
    for (Relay relay : relays) {
      if (forgets) {
        relay.reset();
      }
      relay.set(Weather.FAIR);
    }
  }
}
