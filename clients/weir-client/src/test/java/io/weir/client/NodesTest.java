// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.client.Nodes.Node;
import java.net.URI;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

final class NodesTest {
  /** {@link System#nanoTime} may return any number, and may overflow. */
  private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 10);

  private final Nodes nodes = of("http://a:1", "http://b:2", "http://c:3");

  private Nodes of(String... bases) {
    return new Nodes(Stream.of(bases).map(URI::create).toList(), nanos::get);
  }

  private Set<String> hostsOfSixTurns() {
    Set<String> hosts = new HashSet<>();
    for (int i = 0; i < 6; i++) {
      hosts.add(nodes.next().base().getHost());
    }
    return hosts;
  }

  @Test
  void nodes_areUsedInTurn() {
    List<String> asked =
        Stream.generate(nodes::next).limit(4).map(n -> n.base().getHost()).toList();

    assertEquals(List.of("a", "b", "c", "a"), asked);
  }

  @Test
  void nodeThatRests_isLeftOut_untilItsRestEnds() {
    nodes.rest(nodes.next());
    assertEquals(Set.of("b", "c"), hostsOfSixTurns());

    nanos.addAndGet(Nodes.REST_NANOS - 1);
    assertEquals(Set.of("b", "c"), hostsOfSixTurns());

    nanos.addAndGet(1);
    assertEquals(Set.of("a", "b", "c"), hostsOfSixTurns());
  }

  @Test
  void nodeThatAnswers_restsNoLonger() {
    Node first = nodes.next();
    nodes.rest(first);
    nodes.wake(first);

    assertEquals(Set.of("a", "b", "c"), hostsOfSixTurns());
  }

  @Test
  void allNodesPaused_usesTheNodeWithTheShortestPause() {
    for (int i = 0; i < 3; i++) {
      assertTrue(nodes.isAnyAwake());
      nodes.rest(nodes.next());
      nanos.incrementAndGet();
    }

    assertFalse(nodes.isAnyAwake());
    assertEquals(Set.of("a"), hostsOfSixTurns());
  }

  @Test
  void route_isAppendedToTheAddress_withOrWithoutASlash() {
    assertEquals("http://a:1/v1/check", of("http://a:1").next().at("/v1/check").toString());
    assertEquals("http://a:1/v1/check", of("http://a:1/").next().at("/v1/check").toString());
    assertEquals("http://a/weir/v1/check", of("http://a/weir").next().at("/v1/check").toString());
  }
}
