// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.testing.Await;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Bodies that are not whole for a reason that is not their sender's mistake. */
final class IncompleteBodyIT {
  private static final String HALF =
      "POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\n\r\n{\"client\"";

  @TempDir Path folder;

  /** Regression: this was answered 400, by which a correct client does not try again. */
  @Test
  void nodeStops_beforeTheBodyIsComplete_is503() throws Exception {
    TestNode node = TestNode.start(folder, Map.of("WEIR_STOP_DELAY", "PT0S"));
    try (RawHttp half = node.connect()) {
      half.send(HALF);
      Await.until("it waits", () -> node.metric("weir_http_incomplete_bodies") == 1);
      Thread stop = new Thread(node::close, "stop");
      stop.start();

      RawHttp.Answer answer = half.answer();

      assertEquals(503, answer.status(), answer.toString());
      assertTrue(answer.body().contains("the node stopped before"), answer.body());
      assertEquals("1", answer.headers().get("retry-after"));
      assertTrue(half.ends());
      stop.join();
    } finally {
      node.close();
    }
  }

  /** Regression: this was answered 400, too. */
  @Test
  void bodyPauses_whileThereIsNoRoomForConnections_isTooSlow() throws Exception {
    List<RawHttp> others = new ArrayList<>();
    try (HeldNode node = new HeldNode(4, Duration.ZERO, 6);
        RawHttp half = node.connect()) {
      half.send(HALF);
      for (int i = 0; i < 5; i++) {
        others.add(node.connect());
      }

      RawHttp.Answer answer = half.answer();

      assertEquals(408, answer.status(), answer.toString());
      assertTrue(answer.body().contains("/problems/request-too-slow"), answer.body());
      assertTrue(half.ends());
    } finally {
      for (RawHttp other : others) {
        other.close();
      }
    }
  }
}
