// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.decision.correction.CacheLife;
import io.weir.decision.correction.CacheLife.Warmth;
import io.weir.limits.check.Decision;
import io.weir.limits.check.Decision.Cause;
import io.weir.testing.Await;
import io.weir.testing.FullSuite;
import io.weir.topics.model.CacheRestored;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Tests that servers of a cluster that lose their state one after another are restored separately.
 */
class ClusterLifeIT {
  private static final long MANY = 1_000_000;

  @SuppressWarnings("NullAway.Init") // each test starts its own
  private ClusterFixture fixture;

  private void start(boolean replicated) throws Exception {
    fixture = new ClusterFixture(replicated);
  }

  @AfterEach
  void stop() {
    fixture.close();
  }

  private Decision takeHeld(int slot) {
    return fixture.cache.take(ClusterFixture.quota(ClusterFixture.clientIn(slot), MANY, true));
  }

  private void assertWarm(int slot) {
    assertInstanceOf(Decision.Allowed.class, takeHeld(slot));
  }

  private void assertCold(int slot) {
    assertEquals(Cause.COLD, assertInstanceOf(Decision.Undecided.class, takeHeld(slot)).cause());
  }

  @Test
  void newCluster_eachServerIsCold_untilItIsRestored() throws Exception {
    start(false);
    assertEquals(Warmth.COLD, fixture.look());
    assertCold(0);
    assertCold(16_383);

    assertEquals(3, fixture.restore());

    assertWarm(0);
    assertWarm(8_000);
    assertWarm(16_383);
    assertNull(fixture.life.beginRestoration());
    try (CacheLife other = fixture.cache.life()) {
      assertEquals(Warmth.WARM, other.look(), "to a node that has just started");
    }
  }

  @Test
  void oneServerIsFlushed_theOthersStayWarm_andItIsRestoredAlone() throws Exception {
    start(false);
    fixture.restore();

    fixture.cluster.command(1, "FLUSHALL");

    assertCold(8_000);
    assertWarm(0);
    assertWarm(16_383);
    fixture.awaitWarmth(Warmth.COLD);
    assertEquals(1, fixture.restore());
    assertWarm(8_000);
  }

  @Test
  void anotherGeneration_changesNothing() throws Exception {
    start(false);
    fixture.restore();
    fixture.cluster.command(1, "FLUSHALL");
    fixture.awaitWarmth(Warmth.COLD);
    String generation = Objects.requireNonNull(fixture.life.beginRestoration());
    assertNull(fixture.life.beginRestoration());

    String life = generation.substring(0, generation.indexOf('-'));
    assertFalse(fixture.life.noteRestored(new CacheRestored(life + "-other", 0, 1, 1, 1)));
    assertFalse(fixture.life.noteRestored(new CacheRestored("gone-other", 0, 1, 1, 1)));
    assertCold(8_000);
    fixture.life.abandonRestoration(generation);
    assertFalse(fixture.life.noteRestored(new CacheRestored(generation, 0, 1, 1, 1)));

    String next = Objects.requireNonNull(fixture.life.beginRestoration());
    assertNotEquals(generation, next);
    fixture.life.noteRestored(new CacheRestored(next, 0, 1, 1, 1));
    assertWarm(8_000);
  }

  @Test
  void slotIsMovedWithItsKeys_staysWarm_asAllOthersDo() throws Exception {
    start(false);
    fixture.restore();
    assertWarm(100);
    assertWarm(101);

    fixture.cluster.move(100, 0, 1);
    fixture.cluster.move(101, 0, 2);

    Await.until(
        "the slots where they are now",
        () ->
            fixture.cache.topology().routes().map().slotsOf(server(1)).get(100)
                && fixture.cache.topology().routes().map().slotsOf(server(2)).get(101)
                && fixture.look() == Warmth.WARM);
    assertNull(fixture.life.beginRestoration());
    for (int slot = 100; slot < 102; slot++) {
      Decision.Allowed moved = assertInstanceOf(Decision.Allowed.class, takeHeld(slot));
      assertEquals(2, moved.buckets().get(0).chargedTokens(), "with its keys");
    }
  }

  private RedisAddress.Server server(int member) {
    return new RedisAddress.Server("127.0.0.1", Integer.parseInt(fixture.cluster.port(member)));
  }

  @Test
  void slotIsAssignedWithoutItsKeys_isCold() throws Exception {
    start(false);
    fixture.restore();
    assertWarm(100);
    fixture.cluster.command(0, "FLUSHALL"); // as if the server were lost permanently
    fixture.cluster.assignWithoutKeys(100, 1);

    Await.until(
        "the slot to be cold on its new server",
        () ->
            takeHeld(100) instanceof Decision.Undecided none
                && none.cause() == Cause.COLD
                && fixture.cache.topology().routes().map().slotsOf(server(1)).get(100));
    fixture.awaitWarmth(Warmth.COLD);
    fixture.restore();
    assertWarm(100);
  }

  @Test
  void primaryIsKilled_othersDecideOn_andItsReplicaIsRestored() throws Exception {
    start(true);
    fixture.restore();
    assertWarm(0);

    fixture.cluster.kill(0);
    Await.until(
        "the replica to take over",
        () -> {
          assertWarm(8_000);
          assertWarm(16_383);
          return takeHeld(0) instanceof Decision.Undecided none && none.cause() == Cause.COLD;
        });

    fixture.awaitWarmth(Warmth.COLD);
    assertEquals(1, fixture.restore());
    assertWarm(0);
    assertWarm(8_000);
    fixture.cluster.restart(0);
    fixture.cluster.awaitServing();
    Await.until("a replica", () -> !fixture.cluster.isPrimary(0));
    assertWarm(0);
    assertEquals(Warmth.WARM, fixture.look());
  }

  /**
   * The replica that replaces a partitioned primary lacks the charges that the primary made
   * meanwhile.
   */
  @Test
  @FullSuite(
      reason =
          "a failover takes seconds; primaryIsKilled_othersDecideOn_andItsReplicaIsRestored, which"
              + " always runs, has one")
  void primaryIsPausedAndReplaced_itsMarkersAreNotTakenOver() throws Exception {
    start(true);
    fixture.restore();
    assertWarm(0);
    fixture.cluster.pause(0);
    Await.until("the replica to take over", () -> fixture.cluster.isPrimary(3));
    fixture.cluster.resume(0);
    fixture.cluster.awaitServing();

    Await.until(
        "the replica to be asked",
        () -> {
          boolean isAsked = routesTo(3);
          Warmth warmth = fixture.look();
          assertNotEquals(Warmth.WARM, isAsked ? warmth : Warmth.COLD);
          return isAsked && warmth == Warmth.COLD;
        });
    assertEquals(1, fixture.restore());
    assertWarm(0);
  }

  private boolean routesTo(int member) {
    return server(member).equals(fixture.cache.topology().routes().map().holder(0));
  }

  @Test
  void serverUnavailable_othersAreStillQueried() throws Exception {
    start(false);
    fixture.restore();
    fixture.cluster.kill(2);
    fixture.awaitWarmth(Warmth.UNKNOWN);
    fixture.cluster.command(1, "FLUSHALL");
    fixture.awaitWarmth(Warmth.COLD);
  }

  /** Regression: a replaced server counted as warm when it became primary again. */
  @Test
  @FullSuite(
      reason =
          "two failovers; primaryIsKilled_othersDecideOn_andItsReplicaIsRestored, which always"
              + " runs, has one")
  void replacedServerTakesItsPlaceBack_beforeItsReplicaIsRestored_isCold() throws Exception {
    start(true);
    fixture.restore();
    fixture.cluster.pause(0);
    Await.until("the replica to take over", () -> fixture.cluster.isPrimary(3));
    fixture.cluster.resume(0);
    Await.until("the old primary to follow", () -> follows(0));
    Await.until("the replica to be asked", () -> routesTo(3) && fixture.look() == Warmth.COLD);
    assertNotNull(fixture.life.beginRestoration());
    assertTrue(takeHeld(0) instanceof Decision.Undecided);

    // the servers abandon an attempt after five seconds
    Await.until(
        "the first one to take its place back",
        () -> {
          if (!fixture.cluster.isPrimary(0)) {
            fixture.cluster.command(0, "CLUSTER", "FAILOVER");
          }
          return fixture.cluster.isPrimary(0);
        });
    Await.until("the first one to be asked again", () -> routesTo(0));
    fixture.awaitWarmth(Warmth.COLD);
    assertCold(0);
    fixture.restore();
    assertWarm(0);
  }

  private boolean follows(int member) {
    return !fixture.cluster.isPrimary(member)
        && String.valueOf(fixture.cluster.command(member, "INFO", "replication"))
            .contains("master_link_status:up");
  }

  /** Regression: the restoration also marked slots that were moved to the server meanwhile. */
  @Test
  void slotComesWithoutItsKeysDuringARestoration_isNotWarmWhenItEnds() throws Exception {
    start(false);
    fixture.restore();
    assertWarm(8_000);
    fixture.cluster.command(0, "FLUSHALL");
    fixture.awaitWarmth(Warmth.COLD);
    String generation = Objects.requireNonNull(fixture.life.beginRestoration());
    fixture.life.noteRestored(new CacheRestored(generation, 0, 2, 1, 1));

    fixture.cluster.assignWithoutKeys(8_000, 0);
    Await.until(
        "the slot to be there",
        () -> fixture.cache.topology().routes().map().slotsOf(server(0)).get(8_000));
    assertTrue(fixture.life.noteRestored(new CacheRestored(generation, 1, 2, 1, 1)));

    assertWarm(0);
    assertCold(8_000);
    fixture.awaitWarmth(Warmth.COLD);
    fixture.restore();
    assertWarm(8_000);
  }

  /** Regression: the server was no longer queried, and therefore never restored. */
  @Test
  void slotIsLeftOnItsWay_itsServerIsRestoredAllTheSame() throws Exception {
    start(false);
    fixture.restore();
    fixture.cluster.beginMove(100, 0, 1);
    while (fixture.cluster.moveKeys(100, 0, 1, 10) > 0) {
      // until all slots are moved
    }
    assertEquals(Warmth.WARM, fixture.look());

    fixture.cluster.command(0, "FLUSHALL");
    fixture.awaitWarmth(Warmth.COLD);
    assertEquals(1, fixture.restore());
    assertWarm(50);
    fixture.cluster.endMove(100, 0, 1);
    Await.until("the moved slot", () -> fixture.look() == Warmth.WARM && isWarm(100));
  }

  private boolean isWarm(int slot) {
    return takeHeld(slot) instanceof Decision.Allowed;
  }

  /**
   * Regression: each call waited until the deadline, and was sent about fifteen times meanwhile.
   */
  @Test
  void clusterDoesNotServe_callsAreUndecidedAtOnce() throws Exception {
    start(false);
    fixture.restore();
    fixture.cluster.kill(2);
    Await.until(
        "the cluster to be down",
        () ->
            String.valueOf(fixture.cluster.command(0, "CLUSTER", "INFO"))
                .contains("cluster_state:fail"));
    double calls = fixture.cache.statistics().scriptCalls.count();

    Decision.Undecided none = assertInstanceOf(Decision.Undecided.class, takeHeld(0));

    assertEquals(Cause.UNAVAILABLE, none.cause());
    assertEquals(calls + 1, fixture.cache.statistics().scriptCalls.count());
  }
}
