// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.ingest.gate.Call;
import io.weir.ingest.gate.CheckOutcome;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.settle.CallFinder.CallQuery;
import io.weir.ingest.settle.SettleOutcome;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.UsagePosition;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The clients. One client calls often, the other clients call rarely. Callers send their own ids,
 * retry calls, and settle calls.
 */
final class Callers {
  private static final List<String> ENDPOINTS =
      List.of("GET /a", "GET /b", "GET /ab", "GET /q", "GET /aq", "GET /free");

  /** All endpoints, including endpoints with limits that only the cache stores. */
  private static final List<String> ALL_ENDPOINTS =
      List.of(
          "GET /a",
          "GET /b",
          "GET /ab",
          "GET /q",
          "GET /aq",
          "GET /free",
          "GET /l",
          "POST /s",
          "POST /s");

  /**
   * Endpoints with exactly one enforced bucket. No other bucket hides the verdict of this bucket.
   */
  private static final List<String> PLAIN_ENDPOINTS = List.of("GET /a", "GET /b", "GET /q");

  private final World world;
  private final Chance chance;
  private final List<Kept> kept = new ArrayList<>();
  private int ids;
  private int calmCalls;
  private boolean calling;

  private record Kept(CallEvent call, UsagePosition position) {}

  Callers(World world, Chance chance) {
    this.world = world;
    this.chance = chance;
  }

  /** Sends calls at random times, until the callers are stopped. */
  void begin() {
    calling = true;
    callAndGoOn();
  }

  void stop() {
    calling = false;
  }

  private void callAndGoOn() {
    if (!calling) {
      return;
    }
    world
        .scheduler()
        .after(chance.between(0, 2 * world.plan().callGapMicros()), "a call", this::callAndGoOn);
    if (world.isDisturbedBy(Fault.SETTLEMENTS) && chance.percent(12)) {
      settleSome();
    } else {
      call(drawn());
    }
  }

  /** Sends a call for every bucket of every client, one at a time. */
  void callCalmly() {
    int bucket = calmCalls++ % (PLAIN_ENDPOINTS.size() * world.plan().clients());
    String client = "c" + bucket / PLAIN_ENDPOINTS.size();
    String endpoint = PLAIN_ENDPOINTS.get(bucket % PLAIN_ENDPOINTS.size());
    call(new Call(client, endpoint, CallEvent.DEFAULT_METER, 1, null, null));
  }

  private Call drawn() {
    int client = chance.percent(55) ? 0 : chance.between(0, world.plan().clients() - 1);
    long cost = chance.percent(70) ? 1 : chance.percent(95) ? chance.between(2L, 4L) : 200;
    return new Call(
        "c" + client,
        chance.pick(world.hasCacheOnlyLimits() ? ALL_ENDPOINTS : ENDPOINTS),
        chance.percent(90) ? CallEvent.DEFAULT_METER : "tokens",
        cost,
        chance.percent(35) ? "own" + ids++ : null,
        null);
  }

  private void call(Call call) {
    Node node = chance.pick(world.nodes());
    if (!node.isReady()) {
      return;
    }
    if (call.id() != null) {
      world.calls().asked(call.id());
    }
    long disturbances = world.redis().disturbances();
    CheckOutcome outcome = node.check(call);
    world.trace().note(node.name(), call.facts().client(), call.facts().endpoint(), said(outcome));
    boolean heard = outcome != null && !chance.percent(10);
    if (outcome instanceof CheckOutcome.Decided decided
        && decided.recorded() instanceof Recorded.Durable durable) {
      world.calls().answered(decided.call(), durable.position());
      kept.add(new Kept(decided.call(), durable.position()));
      if (heard) {
        world.slotHolders().told(decided, disturbances);
      }
    } else {
      heard = false;
    }
    boolean holdsSlots =
        heard && outcome instanceof CheckOutcome.Decided decided && decided.slots() != null;
    if (call.id() != null && !holdsSlots && (!heard || chance.percent(15)) && !world.isHealed()) {
      world.scheduler().after(chance.millis(5, 2_500), "a retry", () -> call(call));
    }
  }

  private static String said(@Nullable CheckOutcome outcome) {
    if (outcome instanceof CheckOutcome.Decided decided) {
      return (decided.call().allowed() ? "allowed " : "denied ")
          + decided.call().decidedBy()
          + " "
          + decided.call().id();
    }
    return outcome == null ? "no answer" : "not kept";
  }

  private void settleSome() {
    if (kept.isEmpty()) {
      return;
    }
    Kept call = kept.get(chance.between(Math.max(0, kept.size() - 40), kept.size() - 1));
    if (!call.call().allowed()) {
      return;
    }
    long actualCost = chance.percent(70) ? chance.between(0L, 6L) : 0;
    settle(call, actualCost);
    if (chance.percent(30)) {
      world
          .scheduler()
          .after(
              chance.millis(0, 60),
              "a settlement again",
              () -> settle(call, chance.percent(50) ? actualCost : actualCost + 1));
    }
  }

  private void settle(Kept settled, long actualCost) {
    Node node = chance.pick(world.nodes());
    if (!node.isReady()) {
      return;
    }
    CallEvent call = settled.call();
    for (Kept tried : kept) {
      // the log determines which try the search finds first
      boolean same = tried.call().id().equals(call.id());
      if (same && tried.call().allowed() && actualCost < tried.call().cost()) {
        world.buckets().refunded(tried.call().charges(), tried.call().cost() - actualCost);
      }
    }
    SettleOutcome outcome =
        node.settle(new CallQuery(call.client(), call.id(), settled.position()), actualCost);
    if (outcome instanceof SettleOutcome.Pending done) {
      world.count("settlement");
      world.trace().note("settled", call.id(), actualCost);
      world.calls().settled(done.call(), actualCost, done.position());
    }
  }
}
