// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static io.weir.decision.redis.RedisCacheLife.MARKER_TTL;
import static io.weir.decision.redis.RedisCacheLife.RESTORATION_TTL;
import static io.weir.decision.redis.RedisCacheLife.bytes;
import static io.weir.decision.redis.RedisCacheLife.isYes;
import static io.weir.decision.redis.RedisCacheLife.keys;

import io.lettuce.core.cluster.SlotHash;
import io.weir.decision.correction.CacheLife;
import io.weir.decision.correction.CacheUnavailableException;
import io.weir.decision.correction.PartlyUnavailableException;
import io.weir.decision.redis.RedisAddress.Server;
import io.weir.topics.model.CacheRestored;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Determines which servers of a cluster have lost their state. Each slot stores its own marker. The
 * marker contains the run ID of the server on which the state of the slot is complete:
 *
 * <ul>
 *   <li>A flush deletes the markers with the buckets. A restart or a failover changes the run ID.
 *   <li>A slot that is moved keeps its marker with the run ID of its previous server. The new
 *       server accepts and replaces this marker under two conditions. First, the new server was
 *       warm before with its current run ID. Second, the previous server reports that it has handed
 *       over the slot ({@link ClusterMap#hasHandedOver}), and is connected or was connected until
 *       recently. A replica that replaces a server has all markers of the server, but does not meet
 *       the first condition.
 *   <li>If a slot is assigned to another server without the slot's keys, the slot has no marker.
 * </ul>
 *
 * <p>If a slot of a server is cold, all slots of the server are restored. The other servers
 * continue to decide, and ignore the corrections of the restoration as duplicates. When the
 * restoration begins, the markers with the run ID of a previous server are deleted, also on the
 * replicas. Otherwise these markers would be valid again if the previous server returned.
 * Thread-safe.
 */
final class ClusterCacheLife implements CacheLife {
  private static final Logger LOG = LoggerFactory.getLogger(ClusterCacheLife.class);

  /**
   * Maximum number of markers in one script call, for which the server needs about one millisecond.
   */
  private static final int MAX_MARKERS = 1_000;

  /**
   * Maximum time for which a moved slot may appear cold. After this time, all servers should report
   * that the slot was moved with its keys.
   */
  private static final Duration SETTLING = Duration.ofSeconds(2);

  /**
   * Number of looks within which every marker of a warm server is renewed. There is about one look
   * per second.
   */
  private static final int LOOKS_PER_ROUND = 600;

  private final ClusterDecisionCache cache;
  private final Map<Server, Known> known = new HashMap<>();

  /** The result of the last look at a server. */
  private static final class Known {
    private String life = "";
    private BitSet slots = new BitSet();
    private boolean warm;

    /** Whether the server was warm with its current run ID, and has not been found cold since. */
    private boolean wasWarm;

    /**
     * Deadline after which a slot without a valid marker is cold; 0 if there is no such slot. The
     * deadline gives all servers time to report that the slot was moved.
     */
    private long settlesNanos;

    /** Whether the server has gained slots since its slots were last found warm. */
    private boolean hasGained;

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
        if (!state.warm && isSettling(state)) {
          cache.topology().changed();
          isUnknown = true;
        } else {
          isCold |= !state.warm;
          state.wasWarm = state.warm;
        }
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

  /** Returns whether a server's cold slots may have just been moved to this server. */
  private static boolean isSettling(Known state) {
    if (!state.wasWarm || !state.hasGained) {
      return false;
    }
    long now = NanoClock.now();
    if (state.settlesNanos == 0) {
      state.settlesNanos = now + SETTLING.toNanos();
    }
    return now - state.settlesNanos < 0;
  }

  /**
   * Queries the markers of a server's slots. If the slots may have changed, queries all markers,
   * otherwise only the markers of the next part of the slots.
   */
  private void look(ClusterRoutes routes, Server server, RedisDecisionCache asked, Known state)
      throws CacheUnavailableException {
    if (!asked.link().lookAtServer()) {
      throw new CacheUnavailableException(asked.link().reason());
    }
    String life = asked.link().life();
    BitSet slots = routes.map().slotsOf(server);
    if (!life.equals(state.life)) {
      state.wasWarm = false;
    }
    BitSet gained = (BitSet) slots.clone();
    gained.andNot(state.slots);
    boolean isSame = life.equals(state.life) && slots.equals(state.slots);
    state.hasGained |= !gained.isEmpty();
    boolean isPartEnough = isSame && state.warm && asked.coldSignal().isWarm();
    int[] all = slots.stream().toArray();
    int[] queried = isPartEnough ? nextPart(all, state) : all;
    state.warm = areWarm(routes, server, asked, life, queried, state);
    state.life = life;
    state.slots = slots;
    if (state.warm) {
      state.settlesNanos = 0;
      state.hasGained = false;
    }
    asked.coldSignal().looked(state.warm);
  }

  private static int[] nextPart(int[] slots, Known state) {
    int from = state.next;
    int to = from + (slots.length + LOOKS_PER_ROUND - 1) / LOOKS_PER_ROUND;
    state.next = to % Math.max(1, slots.length);
    return IntStream.range(from, to).map(i -> slots[i % slots.length]).toArray();
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
    if (state.wasWarm) {
      handedOver(routes, server).forEach(other -> arguments.add(bytes(other)));
    }
    boolean warm = true;
    int from = 0;
    for (byte[][] markers : markers(IntStream.of(slots), 0)) {
      byte[] found = call("look_at_slots.lua", asked, markers, arguments.toArray(byte[][]::new));
      if (found == null || found.length != markers.length) {
        throw new CacheUnavailableException(
            "the reply must have one element per slot of the request, but has another number of"
                + " elements");
      }
      for (byte each : found) {
        // other values: the slot is being moved, and the look at its new server includes this slot
        if (each == '0') {
          state.coldSlot = slots[from];
          warm = false;
        }
        from++;
      }
    }
    return warm;
  }

  /**
   * Returns the run IDs of servers that may have handed over slots to the given server, with
   * complete state.
   */
  private Set<String> handedOver(ClusterRoutes routes, Server to) {
    Set<String> lives = new HashSet<>(cache.topology().retiredLives());
    routes
        .servers()
        .forEach(
            (other, connection) -> {
              if (!other.equals(to)
                  && connection.link().current() != null
                  && routes.map().hasHandedOver(other, to)) {
                lives.add(connection.link().life());
              }
            });
    return lives;
  }

  @Override
  public void awaitColdSignal(Duration atMost) throws InterruptedException {
    // the caller queries the cache in both cases
    boolean unused = cache.turnedCold().tryAcquire(atMost.toNanos(), TimeUnit.NANOSECONDS);
  }

  /** Begins the restoration of the first cold server that no other node is restoring. */
  @Override
  public synchronized @Nullable String beginRestoration() throws CacheUnavailableException {
    ClusterRoutes routes = cache.topology().routes();
    CacheUnavailableException failure = null;
    for (Map.Entry<Server, Known> each : known.entrySet()) {
      Known state = each.getValue();
      RedisDecisionCache asked = routes.servers().get(each.getKey());
      if (state.warm || state.wasWarm || asked == null || state.slots.isEmpty()) {
        continue;
      }
      try {
        String generation = begin(asked, state);
        if (generation != null) {
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

  private static @Nullable String begin(RedisDecisionCache server, Known state)
      throws CacheUnavailableException {
    byte[] life = bytes(state.life);
    String generation = generation(state);
    byte[] elected =
        call(
            "begin_restoration.lua",
            server,
            keys(
                LifeKeys.marker(state.coldSlot),
                LifeKeys.restoring(generation),
                LifeKeys.restoredSlots(generation)),
            life,
            bytes(generation),
            bytes(RESTORATION_TTL),
            state.slots.toByteArray());
    if (!isYes(elected)) {
      return null;
    }
    for (byte[][] markers : markers(state.slots.stream(), 0)) {
      byte[] unused = call("clear_slots.lua", server, markers, life);
    }
    return generation;
  }

  /**
   * Returns a new generation. The generation contains a hash tag. The keys with the progress of the
   * restoration are in the slot of this hash tag. This slot is the server's first slot at or after
   * a number that is derived from the run ID. All nodes therefore use the same slot and elect one
   * node. The chosen slot rarely changes when other slots are moved.
   */
  private static String generation(Known state) {
    int slot = state.slots.nextSetBit(Math.floorMod(state.life.hashCode(), SlotHash.SLOT_COUNT));
    String tag = SlotTags.of(slot < 0 ? state.slots.nextSetBit(0) : slot);
    return state.life + "-{" + tag + "}" + UUID.randomUUID();
  }

  @Override
  public void abandonRestoration(String generation) throws CacheUnavailableException {
    RedisDecisionCache server = serverOf(generation, cache.topology().routes());
    if (server != null) {
      // if another node has begun a restoration in the meantime, this call has no effect
      end(server, generation);
    }
  }

  private static void end(RedisDecisionCache server, String generation)
      throws CacheUnavailableException {
    byte[] unused =
        call(
            "abandon_restoration.lua",
            server,
            keys(LifeKeys.restoring(generation), LifeKeys.restored(generation)),
            bytes(generation));
  }

  /**
   * Records that a partition is restored on the server of the generation. When all partitions are
   * restored, marks the server's slots as warm. Slots that were moved to the server during the
   * restoration are not marked. Has no effect if the server has left, has another run ID, or no
   * longer holds the slot with the progress.
   *
   * @throws PartlyUnavailableException if the server does not reply
   */
  @Override
  public boolean noteRestored(CacheRestored restored) throws CacheUnavailableException {
    ClusterRoutes routes = cache.topology().routes();
    RedisDecisionCache server = serverOf(restored.generation(), routes);
    if (server == null) {
      LOG.info("restored_elsewhere generation={}", restored.generation());
      return false;
    }
    try {
      return noteRestored(server, restored, routes);
    } catch (CacheUnavailableException away) {
      throw new PartlyUnavailableException(
          server.target() + ": " + away.getMessage(), Collections.singletonList(null));
    }
  }

  private static boolean noteRestored(
      RedisDecisionCache server, CacheRestored restored, ClusterRoutes routes)
      throws CacheUnavailableException {
    String generation = restored.generation();
    byte[] life = bytes(server.link().life());
    byte[] restoring = LifeKeys.restoring(generation);
    byte[] began =
        call(
            "count_restored.lua",
            server,
            keys(restoring, LifeKeys.restored(generation), LifeKeys.restoredSlots(generation)),
            life,
            bytes(generation),
            bytes(Integer.toString(restored.partition())),
            bytes(Integer.toString(restored.partitions())),
            bytes(RESTORATION_TTL));
    if (began == null || began.length == 0) {
      return false;
    }
    IntStream slots = BitSet.valueOf(began).stream();
    for (byte[][] keys : markers(slots.filter(slot -> routes.holder(slot) == server), 1)) {
      keys[0] = restoring;
      byte[] marked =
          call("mark_slots.lua", server, keys, life, bytes(generation), bytes(MARKER_TTL));
      if (!isYes(marked)) {
        return false;
      }
    }
    end(server, generation);
    return true;
  }

  /**
   * Returns the server that a generation restores. Returns null if the server has left, has another
   * run ID, or no longer holds the slot with the progress.
   */
  private static @Nullable RedisDecisionCache serverOf(String generation, ClusterRoutes routes) {
    RedisDecisionCache holder = routes.holder(generation);
    return holder != null && generation.startsWith(holder.link().life() + "-") ? holder : null;
  }

  /**
   * Returns the markers of slots in groups of at most {@link #MAX_MARKERS}. Each group begins with
   * the given number of empty elements.
   */
  private static List<byte[][]> markers(IntStream slots, int places) {
    int[] all = slots.toArray();
    List<byte[][]> calls = new ArrayList<>();
    for (int from = 0; from < all.length; from += MAX_MARKERS) {
      int count = Math.min(MAX_MARKERS, all.length - from);
      byte[][] keys = new byte[places + count][];
      for (int i = 0; i < count; i++) {
        keys[places + i] = LifeKeys.marker(all[from + i]);
      }
      calls.add(keys);
    }
    return calls;
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

  /** Does nothing, because the cache closes its connections. */
  @Override
  public void close() {}
}
