// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.decision.redis.RedisAddress.Server;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Tests which server holds a slot if the servers of a cluster report different views. */
final class ClusterMapTest {
  private static final Server A = new Server("10.0.0.1", 7001);
  private static final Server B = new Server("10.0.0.2", 7002);
  private static final Server C = new Server("10.0.0.3", 7003);

  private static ClusterView view(Server asked, String... lines) {
    return ClusterView.of(asked, String.join("\n", lines) + "\n", false);
  }

  private static String line(String id, Server server, String flags, long epoch, String slots) {
    return id
        + " "
        + server
        + "@17000 "
        + flags
        + " - 0 1795680663491 "
        + epoch
        + " connected"
        + (slots.isEmpty() ? "" : " " + slots);
  }

  @Test
  void of_answer_tellsPrimariesAndTheirSlots() {
    ClusterView view =
        view(
            A,
            line("a", A, "myself,master", 1, "0-5 7 [9->-b] [6-<-b]"),
            line("b", B, "master,fail", 2, "8-16383"),
            line("r", C, "slave", 2, ""),
            "x :0@0 master,noaddr - 0 0 3 disconnected",
            "n 127.0.0.1:1@2,host.example,shard-id=1 master - 0 0 4 connected");

    assertEquals("a", view.id());
    assertEquals(Set.of("a", "b", "r", "x", "n"), view.known());
    assertEquals(3, view.primaries().size());
    assertEquals("{0, 1, 2, 3, 4, 5, 7}", view.slotsOf(A).toString());
    assertTrue(view.primaries().get(1).hasFailed());
    assertEquals(new Server("127.0.0.1", 1), view.primaries().get(2).server());
    ClusterView byName =
        ClusterView.of(A, "n 127.0.0.1:1@2,host.example master - 0 0 4 connected", true);
    assertEquals(new Server("host.example", 1), byName.primaries().get(0).server());
  }

  @Test
  void of_serverWithoutItsOwnAddress_hasTheQueriedAddress() {
    ClusterView view = view(B, "b :7002@17002 myself,master - 0 0 1 connected 0-16383");

    assertEquals(B, view.primaries().get(0).server());
    assertThrows(IllegalArgumentException.class, () -> view(B, "ERR something"));
  }

  @Test
  void merge_replacedServer_isIgnored() {
    ClusterView cutOff =
        view(
            A,
            line("a", A, "myself,master", 1, "0-100"),
            line("b", B, "master,fail", 2, "101-16383"),
            line("c", C, "slave,fail", 1, ""));
    ClusterView other =
        view(
            B,
            line("a", A, "master,fail", 1, ""),
            line("b", B, "myself,master", 2, "101-16383"),
            line("c", C, "master", 3, "0-100"));

    for (List<ClusterView> views : List.of(List.of(cutOff, other), List.of(other, cutOff))) {
      ClusterMap map = ClusterMap.merge(views);
      assertEquals(C, map.holder(100));
      assertEquals(B, map.holder(101));
      assertTrue(map.isComplete());
      assertFalse(map.hasHandedOver(A, C));
      assertTrue(map.hasHandedOver(B, C));
    }
    assertEquals(A, ClusterMap.merge(List.of(cutOff)).holder(0), "nobody says otherwise");
  }

  /** Regression: all decisions were sent to a server that had joined another cluster. */
  @Test
  void merge_serverOfAnotherCluster_isPassedOver() {
    ClusterView first =
        view(A, line("a", A, "myself,master", 1, "0-100"), line("b", B, "master", 2, "101-16383"));
    ClusterView second =
        view(B, line("a", A, "master", 1, "0-100"), line("b", B, "myself,master", 2, "101-16383"));
    ClusterView foreign =
        view(C, line("c", C, "myself,master", 90, "0-16383"), line("d", A, "master", 91, ""));

    for (List<ClusterView> views :
        List.of(List.of(foreign, first, second), List.of(first, second, foreign))) {
      ClusterMap map = ClusterMap.merge(views);
      assertEquals(A, map.holder(0));
      assertEquals(B, map.holder(16_383));
      assertEquals(Set.of(A, B), map.servers());
    }
  }

  @Test
  void empty_holdsNothing() {
    assertNull(ClusterMap.EMPTY.holder(0));
    assertFalse(ClusterMap.EMPTY.isComplete());
    assertEquals(Set.of(), ClusterMap.EMPTY.servers());
  }
}
