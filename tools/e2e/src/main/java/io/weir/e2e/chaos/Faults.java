// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The faults that can be injected. */
final class Faults {
  private final Lasting lasting;
  private final int brokers;

  /**
   * Creates the faults. A fault has a limited duration, unless its name says otherwise.
   *
   * @param longest maximum duration of a fault, above 2 s; 15 s is long enough to expire the Kafka
   *     sessions of most clients
   * @param brokers number of brokers; some faults need more than one
   */
  Faults(Duration longest, int brokers) {
    this.lasting = new Lasting(longest);
    this.brokers = brokers;
  }

  /** Returns all faults, one of each kind. */
  List<Fault> all() {
    List<Fault> single = new ArrayList<>();
    single.addAll(new ProcessFaults(lasting, brokers).all());
    single.addAll(new RedisFaults(lasting).all());
    single.addAll(new NetworkFaults(lasting, brokers).all());
    single.addAll(new JournalFaults(lasting).all());
    single.addAll(new PutBackFaults(lasting).all());
    single.addAll(new ClockFaults(lasting).all());
    single.addAll(new HogFaults(lasting).all());
    List<Fault> all = new ArrayList<>(single);
    all.add(new Overlap(single, lasting).fault());
    return Collections.unmodifiableList(all);
  }
}
