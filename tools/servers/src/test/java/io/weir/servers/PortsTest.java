// SPDX-License-Identifier: Apache-2.0
package io.weir.servers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.Collections;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;

final class PortsTest {
  private static final int FIRST_OF_OUTGOING_CONNECTIONS = 32_768;

  /**
   * Regression: a port of outgoing connections was given, and one of them took it before the
   * server.
   */
  @Test
  void free_isOutsideTheEphemeralRange_andDifferentEachTime() throws Exception {
    Set<Integer> given = new HashSet<>();
    for (int i = 0; i < 100; i++) {
      int port = Ports.free();
      assertTrue(port < FIRST_OF_OUTGOING_CONNECTIONS, () -> "port " + port);
      given.add(port);
    }

    assertEquals(100, given.size());
  }

  /**
   * Regression: a broker's controller got the broker's port, because no process listened there yet.
   */
  @Test
  void requireFree_portIsReserved() throws Exception {
    int wanted = Ports.free();
    Ports.requireFree(wanted, "Kafka", "WEIR_KAFKA_PORT");

    assertFalse(allOf(Ports::free).contains(wanted));
  }

  /**
   * Once, a controller got the former port of a killed broker: its markers went to the controller.
   */
  @Test
  void freeForController_isNeverOneThatABrokerHad() throws Exception {
    Set<Integer> brokers = allOf(Ports::free);
    Set<Integer> controllers = allOf(Ports::freeForController);

    assertTrue(Collections.disjoint(brokers, controllers));
  }

  private static Set<Integer> allOf(Callable<Integer> ports) throws Exception {
    Set<Integer> given = new HashSet<>();
    for (int port = ports.call(); given.add(port); port = ports.call()) {
      // until they come round again
    }
    return given;
  }

  @Test
  void requireFree_taken_namesTheSetting() throws Exception {
    try (ServerSocket taken = new ServerSocket(Ports.free(), 1, InetAddress.getLoopbackAddress())) {
      ServerStartException refused =
          assertThrows(
              ServerStartException.class,
              () -> Ports.requireFree(taken.getLocalPort(), "Redis", "WEIR_REDIS_PORT"));

      assertTrue(String.valueOf(refused.getMessage()).contains("set WEIR_REDIS_PORT"));
      assertNotEquals(taken.getLocalPort(), Ports.free());
    }
  }
}
