// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.ingest.gate.CheckOutcome;
import io.weir.ingest.gate.HeldSlots;
import io.weir.ingest.gate.SlotOutcome;
import io.weir.ingest.gate.SlotToken;
import io.weir.topics.model.DecidedBy;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The callers that hold slots. Each caller renews its slots for a while, at any node, and then
 * releases the slots or crashes.
 */
final class SlotHolders {
  private static final long MICROS_PER_MILLI = 1_000;

  private final World world;
  private final Chance chance;

  SlotHolders(World world, Chance chance) {
    this.world = world;
    this.chance = chance;
  }

  /**
   * Records the response to a caller.
   *
   * @param disturbances value of {@link SimulatedRedis#disturbances} before the call
   */
  void told(CheckOutcome.Decided decided, long disturbances) {
    HeldSlots slots = decided.slots();
    if (slots != null) {
      world.count("slots given to callers");
      world.trace().note("gets slots", decided.call().id(), slots.token().claim().holder());
      holds(slots.token(), slots.leaseMicros(), decided.call().decidedBy(), disturbances);
    }
  }

  private void holds(SlotToken token, long leaseMicros, DecidedBy decidedBy, long disturbances) {
    // after a disturbance, the cache may have lost these slots before the caller received the
    // response
    if (decidedBy == DecidedBy.CACHE && disturbances == world.redis().disturbances()) {
      world.buckets().slots().holds(token);
    }
    if (world.isHealed() || !chance.percent(15)) {
      later(token, chance.between(leaseMicros / 10, leaseMicros * 9 / 10));
    }
  }

  private void later(SlotToken token, long micros) {
    world.scheduler().after(micros, "a caller with a slot", () -> goOn(token));
  }

  private void goOn(SlotToken token) {
    Node node = chance.pick(world.nodes());
    if (!node.isReady()) {
      later(token, chance.millis(50, 200));
    } else if (!world.isHealed() && chance.percent(60)) {
      renew(node, token);
    } else {
      release(node, token);
    }
  }

  private void renew(Node node, SlotToken token) {
    long disturbances = world.redis().disturbances();
    SlotOutcome outcome = node.renewSlots(token);
    world.trace().note(node.name(), "renews", token.claim().holder(), said(outcome));
    if (outcome instanceof SlotOutcome.Renewed renewed) {
      world.count("slots renewed");
      holds(renewed.token(), renewed.leaseMicros(), renewed.decidedBy(), disturbances);
    } else if (outcome instanceof SlotOutcome.Ended) {
      world.count("slots ended");
      world.buckets().slots().leaves(token);
    } else {
      later(token, chance.millis(20, 200));
    }
  }

  private void release(Node node, SlotToken token) {
    world.buckets().slots().leaves(token);
    long releases = world.redis().releases();
    SlotOutcome outcome = node.releaseSlots(token);
    world.trace().note(node.name(), "releases", token.claim().holder(), said(outcome));
    if (outcome instanceof SlotOutcome.Released) {
      world.count("slots released");
      if (world.redis().releases() > releases) { // otherwise the node still has the release pending
        world.buckets().slots().released(token);
      }
    } else if (isWorthAnotherTry(token)) {
      world
          .scheduler()
          .after(
              chance.millis(20, 200),
              "a caller with a slot",
              () -> release(chance.pick(readyOr(node)), token));
    }
  }

  private List<Node> readyOr(Node node) {
    List<Node> ready = world.nodes().stream().filter(Node::isReady).toList();
    return ready.isEmpty() ? List.of(node) : ready;
  }

  private boolean isWorthAnotherTry(SlotToken token) {
    return token.claim().untilEpochMicros()
        > world.redis().clock().epochMicros() - 10_000 * MICROS_PER_MILLI;
  }

  private static String said(@Nullable SlotOutcome outcome) {
    return outcome == null ? "no answer" : outcome.getClass().getSimpleName();
  }
}
