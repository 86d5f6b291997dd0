// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.gateways;

import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** Debian's HAProxy, configured as documented, in front of a small application. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class HaproxyIT {
  private TwoNodes nodes;
  private Shop shop;
  private Gateway gateway;

  @BeforeAll
  void start(@TempDir Path folder) throws Exception {
    shop = Shop.open();
    nodes = TwoNodes.start(folder);
    gateway = Gateway.haproxy(folder, nodes, shop, false);
  }

  @AfterAll
  void stop() {
    if (gateway != null) {
      gateway.close();
    }
    if (nodes != null) {
      nodes.close();
    }
    if (shop != null) {
      shop.close();
    }
  }

  @Test
  void clientOverItsLimit_getsATrue429() throws Exception {
    GatewayProof.limits(gateway, shop);
  }

  @Test
  void callerWithoutAKnownKey_gets401() throws Exception {
    GatewayProof.knowsCallers(gateway, shop);
  }

  @Test
  void connections_areKept() throws Exception {
    GatewayProof.keepsConnections(gateway, nodes, shop);
  }

  @Test
  void rollingRestart_failsNoCall() throws Exception {
    GatewayProof.survivesARollingRestart(gateway, nodes);
  }

  @Test
  void withoutWeir_itIsClosedOrOpen_asConfigured(@TempDir Path folder) throws Exception {
    try (Gateway open = Gateway.haproxy(folder, nodes, shop, true)) {
      GatewayProof.policyFailsClosed(open, nodes);
      GatewayProof.isClosedOrOpenWithoutWeir(gateway, open, nodes, shop);
    }
  }
}
