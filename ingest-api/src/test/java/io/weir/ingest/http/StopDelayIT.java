// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.testing.Await;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A node that stops behind a load balancer: it is unready first, and still serves arriving calls.
 */
final class StopDelayIT {
  private static final int CALLS = 20;

  @TempDir private Path folder;

  @Test
  void stop_duringTheDelay_isUnreadyButStillServes() throws Exception {
    TestNode node = TestNode.start(folder, Map.of("WEIR_STOP_DELAY", "PT10M"));
    Thread stop = new Thread(node::close, "stop");
    try (RawHttp kept = node.connect()) {
      stop.start();
      Await.until("the node is unready", () -> node.get("/health/ready").statusCode() == 503);

      for (int i = 0; i < CALLS; i++) {
        assertEquals(200, node.send(node.check("{\"client\":\"late\"}")).statusCode());
      }
      assertTrue(node.get("/health/ready").body().contains("\"stopping\":true"));
      assertEquals(200, node.get("/health/live").statusCode());
      kept.send("GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n");
      assertEquals(200, kept.answer().status());
    } finally {
      // the delay is over
      stop.interrupt();
      stop.join();
    }
  }

  @Test
  void idleConnection_isClosedAfterTheConfiguredKeepAlive() throws Exception {
    try (TestNode node = TestNode.start(folder, Map.of("WEIR_KEEP_ALIVE", "PT1S"));
        RawHttp idle = node.connect()) {
      assertTrue(idle.ends());
    }
  }
}
