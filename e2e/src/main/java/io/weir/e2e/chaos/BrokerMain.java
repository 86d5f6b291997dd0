// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import io.weir.servers.EmbeddedKafka;
import java.nio.file.Path;

/** A single-node Kafka broker in a process of its own, so that it can be killed alone. */
public final class BrokerMain {
  /** Begins the line that says the broker answers. */
  static final String READY = "broker is ready on port";

  private BrokerMain() {}

  /**
   * Runs the broker until the process ends.
   *
   * @param arguments the data folder and the port
   */
  public static void main(String... arguments) throws Exception {
    EmbeddedKafka kafka =
        EmbeddedKafka.start(Path.of(arguments[0]), Integer.parseInt(arguments[1]));
    Runtime.getRuntime().addShutdownHook(new Thread(kafka::close, "broker-stop"));
    System.out.println(READY + " " + kafka.port());
    Thread.currentThread().join();
  }
}
