// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.weir.decision.correction.CacheLife;
import io.weir.decision.correction.CacheUnavailableException;
import io.weir.decision.redis.RedisAddress.Server;
import io.weir.topics.model.CacheRestored;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tracks which servers of a cluster have lost their state. Each slot has a marker of its own, in
 * that slot, which holds the run ID of the server on which the slot's state is complete:
 *
 * <ul>
 *   <li>A flush loses the markers with the buckets; a restart and a failover change the run ID.
 *   <li>A slot that is moved takes its marker along. The marker then holds the run ID of the server
 *       from which it came, and is accepted, and written anew, while that server says itself that
 *       it has handed the slot over ({@link ClusterMap#hasHandedOver}).
 *   <li>A slot that is assigned without its keys has no marker.
 * </ul>
 *
 * <p>A server of which any slot is cold is restored as a whole, alone: the others decide on, and
 * take the corrections that are published again as repetitions. Thread-safe.
 */
final class ClusterCacheLife implements CacheLife {
  private static final Logger LOG = LoggerFactory.getLogger(ClusterCacheLife.class);

  /** How long the markers outlive a deployment without any node; after that the slots are cold. */
  private static final Duration MARKER_TTL = Duration.ofHours(1);

  /** How long a restoration may make no progress; after that any node may begin another. */
  private static final Duration RESTORATION_TTL = Duration.ofMinutes(1);

  /** Markers in one script call, which takes a server about a millisecond. */
  private static final int MAX_MARKERS = 1_000;

  /**
   * Looks after which every marker of a warm server was renewed; there is about one look a second.
   */
  private static final int LOOKS_PER_ROUND = 600;

  private final ClusterDecisionCache cache;
  private final Map<Server, Known> known = new HashMap<>();

  /** What the last look has found on a server. */
  private static final class Known {
    private String life = "";
    private BitSet slots = new BitSet();
    private boolean warm;
    private int coldSlot;
    private int next;
  }

  ClusterCacheLife(ClusterDecisionCache cache) {
    this.cache = cache;
  }

  @Override
  public synchronized Warmth look() {
    ClusterRoutes routes = cache.topology().routes();
    known.keySet().retainAll(routes.servers().keySet());
    boolean isUnknown = !routes.map().isComplete();
    boolean isCold = false;
    for (Map.Entry<Server, RedisDecisionCache> each : routes.servers().entrySet()) {
      Known state = known.computeIfAbsent(each.getKey(), none -> new Known());
      try {
        look(routes, each.getKey(), each.getValue(), state);
        isCold |= !state.warm;
      } catch (CacheUnavailableException away) {
        LOG.debug("redis_slots_unknown server={}", each.getKey(), away);
        state.warm = false;
        isUnknown = true;
      }
    }
    if (isCold) {
      return Warmth.COLD;
    }
    return isUnknown ? Warmth.UNKNOWN : Warmth.WARM;
  }

  /** Looks at all slots of a server if they may have changed, otherwise at some in turn. */
  private void look(ClusterRoutes routes, Server server, RedisDecisionCache asked, Known state)
      throws CacheUnavailableException {
    String life = asked.link().life();
    BitSet slots = routes.map().slotsOf(server);
    boolean isSame = life.equals(state.life) && slots.equals(state.slots);
    if (isSame && state.warm && asked.coldSignal().isWarm()) {
      int some = (slots.cardinality() + LOOKS_PER_ROUND - 1) / LOOKS_PER_ROUND;
      int[] all = slots.stream().toArray();
      int[] turn = new int[some];
      for (int i = 0; i < some; i++) {
        turn[i] = all[(state.next + i) % all.length];
      }
      state.next = all.length == 0 ? 0 : (state.next + some) % all.length;
      state.warm = areWarm(routes, server, asked, life, turn, state);
    } else {
      state.warm = areWarm(routes, server, asked, life, slots.stream().toArray(), state);
      state.life = life;
      state.slots = slots;
    }
    asked.coldSignal().looked(state.warm);
  }

  private boolean areWarm(
      ClusterRoutes routes,
      Server server,
      RedisDecisionCache asked,
      String life,
      int[] slots,
      Known state)
      throws CacheUnavailableException {
    List<byte[]> arguments = new ArrayList<>(List.of(bytes(life), bytes(MARKER_TTL)));
    routes
        .servers()
        .forEach(
            (other, connection) -> {
              if (other != server
                  && connection.link().current() != null
                  && routes.map().hasHandedOver(other, server)) {
                arguments.add(bytes(connection.link().life()));
              }
            });
    boolean warm = true;
    for (int from = 0; from < slots.length; from += MAX_MARKERS) {
      int count = Math.min(MAX_MARKERS, slots.length - from);
      byte[][] keys = new byte[count][];
      for (int i = 0; i < count; i++) {
        keys[i] = LifeKeys.marker(slots[from + i]);
      }
      byte[] found = call("look_at_slots.lua", asked, keys, arguments.toArray(byte[][]::new));
      if (found == null || found.length != count) {
        throw new CacheUnavailableException("the reply tells of other slots than were asked");
      }
      for (int i = 0; i < count; i++) {
        if (found[i] != '1') {
          state.coldSlot = slots[from + i];
          warm = false;
        }
      }
    }
    return warm;
  }

  @Override
  public void awaitColdSignal(Duration atMost) throws InterruptedException {
    // in either case the caller looks itself
    boolean unused = cache.turnedCold().tryAcquire(atMost.toNanos(), TimeUnit.NANOSECONDS);
  }

  /** Begins the restoration of a server that is cold, the first for which no other node has. */
  @Override
  public synchronized @Nullable String beginRestoration() throws CacheUnavailableException {
    ClusterRoutes routes = cache.topology().routes();
    CacheUnavailableException failure = null;
    for (Map.Entry<Server, Known> each : known.entrySet()) {
      Known state = each.getValue();
      RedisDecisionCache asked = routes.servers().get(each.getKey());
      if (state.warm || asked == null || state.slots.isEmpty()) {
        continue;
      }
      String generation = state.life + "-" + UUID.randomUUID();
      byte[][] keys = {
        LifeKeys.marker(state.coldSlot), LifeKeys.restoring(state.slots.nextSetBit(0))
      };
      try {
        byte[] reply =
            call(
                "begin_restoration.lua",
                asked,
                keys,
                bytes(state.life),
                bytes(generation),
                bytes(RESTORATION_TTL));
        if (isYes(reply)) {
          return generation;
        }
      } catch (CacheUnavailableException away) {
        failure = away;
      }
    }
    if (failure != null) {
      throw failure;
    }
    return null;
  }

  @Override
  public void abandonRestoration(String generation) throws CacheUnavailableException {
    Restored server = serverOf(generation);
    if (server != null) {
      // another node may have begun one meanwhile; then there is nothing to abandon
      byte[] unused =
          call(
              "abandon_restoration.lua",
              server.cache(),
              new byte[][] {server.restoring(), server.restored(generation)},
              bytes(generation));
    }
  }

  /**
   * Records that a partition is restored on the server of the generation. If that server is away
   * this has no effect: it comes back with another run ID, or begins another restoration, since
   * this one ends by itself.
   */
  @Override
  public boolean noteRestored(CacheRestored restored) throws CacheUnavailableException {
    String generation = restored.generation();
    Restored server = serverOf(generation);
    if (server == null || server.cache().link().current() == null) {
      LOG.info("restored_elsewhere generation={}", generation);
      return false;
    }
    byte[] life = bytes(server.cache().link().life());
    byte[] all =
        call(
            "count_restored.lua",
            server.cache(),
            new byte[][] {server.restoring(), server.restored(generation)},
            life,
            bytes(generation),
            bytes(Integer.toString(restored.partition())),
            bytes(Integer.toString(restored.partitions())),
            bytes(RESTORATION_TTL));
    if (!isYes(all)) {
      return false;
    }
    int[] slots = server.slots().stream().toArray();
    for (int from = 0; from < slots.length; from += MAX_MARKERS) {
      int count = Math.min(MAX_MARKERS, slots.length - from);
      byte[][] keys = new byte[1 + count][];
      keys[0] = server.restoring();
      for (int i = 0; i < count; i++) {
        keys[1 + i] = LifeKeys.marker(slots[from + i]);
      }
      byte[] marked =
          call("mark_slots.lua", server.cache(), keys, life, bytes(generation), bytes(MARKER_TTL));
      if (!isYes(marked)) {
        return false;
      }
    }
    byte[] unused =
        call(
            "abandon_restoration.lua",
            server.cache(),
            new byte[][] {server.restoring(), server.restored(generation)},
            bytes(generation));
    return true;
  }

  /** A server that is being restored, and where it keeps what is known of that. */
  private record Restored(RedisDecisionCache cache, BitSet slots) {
    byte[] restoring() {
      return LifeKeys.restoring(slots.nextSetBit(0));
    }

    byte[] restored(String generation) {
      return LifeKeys.restored(slots.nextSetBit(0), generation);
    }
  }

  private @Nullable Restored serverOf(String generation) {
    ClusterRoutes routes = cache.topology().routes();
    for (Map.Entry<Server, RedisDecisionCache> each : routes.servers().entrySet()) {
      BitSet slots = routes.map().slotsOf(each.getKey());
      if (generation.startsWith(each.getValue().link().life() + "-") && !slots.isEmpty()) {
        return new Restored(each.getValue(), slots);
      }
    }
    return null;
  }

  private static byte @Nullable [] call(
      String script, RedisDecisionCache server, byte[][] keys, byte[]... arguments)
      throws CacheUnavailableException {
    return new BlockingScript(
            RedisScript.of(ServerKind.OF_CLUSTER, script),
            server.link(),
            server.watch(),
            server.stallTimeout())
        .call(keys, arguments);
  }

  private static boolean isYes(byte @Nullable [] reply) {
    return reply != null && reply.length == 1 && reply[0] == '1';
  }

  private static byte[] bytes(Duration duration) {
    return bytes(Long.toString(duration.toMillis()));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** Does nothing: the connections belong to the cache. */
  @Override
  public void close() {}
}
