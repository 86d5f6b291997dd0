// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.cluster.SlotHash;
import io.weir.decision.correction.CacheLife;
import io.weir.decision.correction.CacheUnavailableException;
import io.weir.decision.correction.PartlyUnavailableException;
import io.weir.decision.redis.RedisAddress.Server;
import io.weir.topics.model.CacheRestored;
import java.nio.charset.StandardCharsets;
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
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Determines which servers of a cluster have lost their state. Each slot stores its own marker. The
 * marker contains the run ID of the server on which the state of the slot is complete:
 *
 * <ul>
 *   <li>A flush deletes the markers with the buckets. A restart or a failover changes the run ID.
 *   <li>A slot that is moved keeps its marker, which contains the run ID of its previous server.
 *       The new server accepts and replaces the marker under two conditions. The new server was
 *       warm before with its current run ID. The previous server is connected, or was connected
 *       until recently, and reports that it has handed over the slot ({@link
 *       ClusterMap#hasHandedOver}). A replica that replaces a server has all markers of the server,
 *       but does not meet these conditions.
 *   <li>A slot that is assigned to another server without its keys has no marker.
 * </ul>
 *
 * <p>If a slot of a server is cold, all slots of the server are restored. The other servers
 * continue to decide, and ignore the corrections of the restoration as duplicates. When the
 * restoration begins, the cold markers of the server are deleted, also on its replicas. If the
 * server is replaced and returns later, it therefore does not have these markers. Thread-safe.
 */
final class ClusterCacheLife implements CacheLife {
  private static final Logger LOG = LoggerFactory.getLogger(ClusterCacheLife.class);

  /** Time to live of the markers. If no node runs for this time, the slots become cold. */
  private static final Duration MARKER_TTL = Duration.ofHours(1);

  /**
   * Maximum time for which a restoration may make no progress. After it, any node may begin another
   * restoration.
   */
  private static final Duration RESTORATION_TTL = Duration.ofMinutes(1);

  /**
   * Maximum number of markers in one script call. Such a call takes the server about one
   * millisecond.
   */
  private static final int MAX_MARKERS = 1_000;

  /**
   * Maximum time for which a moved slot may appear cold, until the servers report that it was moved
   * with its keys.
   */
  private static final Duration SETTLING = Duration.ofSeconds(2);

  /**
   * Number of looks in which every marker of a warm server is renewed. There is about one look per
   * second.
   */
  private static final int LOOKS_PER_ROUND = 600;

  private final ClusterDecisionCache cache;
  private final Map<Server, Known> known = new HashMap<>();

  /** The result of the last look at a server. */
  private static final class Known {
    private String life = "";
    private BitSet slots = new BitSet();
    private boolean warm;

    /** Whether the server was warm with its current run ID, and has not become cold since. */
    private boolean wasWarm;

    /**
     * Deadline after which a slot without a valid marker is cold. Until then the slot may have been
     * moved, and not all servers report the move yet. 0 if no such wait has begun.
     */
    private long settlesNanos;

    /** Whether the server has gained slots after the last look that found all of its slots warm. */
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

  /** Returns whether the cold slots of a warm server may have just been moved to it. */
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
   * Queries all slots of a server if they may have changed, otherwise the next part of the slots.
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
    if (state.warm) {
      state.settlesNanos = 0;
      state.hasGained = false;
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
    if (state.wasWarm) {
      handedOver(routes, server).forEach(other -> arguments.add(bytes(other)));
    }
    boolean warm = true;
    for (int from = 0; from < slots.length; from += MAX_MARKERS) {
      int count = Math.min(MAX_MARKERS, slots.length - from);
      byte[][] keys = new byte[count][];
      for (int i = 0; i < count; i++) {
        keys[i] = LifeKeys.marker(slots[from + i]);
      }
      byte[] found = call("look_at_slots.lua", asked, keys, arguments.toArray(byte[][]::new));
      if (found == null || found.length != count) {
        throw new CacheUnavailableException(
            "the reply must have one element per slot of the request, but has another number of"
                + " elements");
      }
      for (int i = 0; i < count; i++) {
        // other values: the slot is being moved, and the look at its new server covers it
        if (found[i] == '0') {
          state.coldSlot = slots[from + i];
          warm = false;
        }
      }
    }
    return warm;
  }

  /** Returns the run IDs of the servers that may have handed over slots with complete state. */
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
        String generation = begin(Restored.of(asked, state.life, state.slots), state.coldSlot);
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

  private static @Nullable String begin(Restored server, int coldSlot)
      throws CacheUnavailableException {
    byte[] life = bytes(server.life());
    String generation = server.life() + "-" + UUID.randomUUID();
    byte[] elected =
        call(
            "begin_restoration.lua",
            server.cache(),
            new byte[][] {LifeKeys.marker(coldSlot), server.restoring()},
            life,
            bytes(generation),
            bytes(RESTORATION_TTL));
    if (!isYes(elected)) {
      return null;
    }
    for (byte[][] markers : markers(server.slots(), 0)) {
      byte[] unused = call("clear_slots.lua", server.cache(), markers, life);
    }
    byte[] kept =
        call(
            "keep_slots.lua",
            server.cache(),
            new byte[][] {server.restoring(), server.restoredSlots(generation)},
            bytes(generation),
            server.slots().toByteArray(),
            bytes(RESTORATION_TTL));
    return isYes(kept) ? generation : null;
  }

  @Override
  public void abandonRestoration(String generation) throws CacheUnavailableException {
    Restored server = serverOf(generation);
    Restored keeping = server == null ? null : server.keeping(generation);
    if (keeping != null) {
      // if another node has begun a restoration meanwhile, this call has no effect
      end(keeping, generation);
    }
  }

  private static void end(Restored server, String generation) throws CacheUnavailableException {
    byte[] unused =
        call(
            "abandon_restoration.lua",
            server.cache(),
            new byte[][] {server.restoring(), server.restored(generation)},
            bytes(generation));
  }

  /**
   * Records that a partition is restored on the server of the generation. It does not mark slots
   * that were moved to the server after the restoration began. It has no effect if the server has
   * left or has another run ID.
   *
   * @throws PartlyUnavailableException if the server does not reply
   */
  @Override
  public boolean noteRestored(CacheRestored restored) throws CacheUnavailableException {
    Restored server = serverOf(restored.generation());
    if (server == null) {
      LOG.info("restored_elsewhere generation={}", restored.generation());
      return false;
    }
    try {
      Restored keeping = server.keeping(restored.generation());
      return keeping != null && noteRestored(keeping, restored);
    } catch (CacheUnavailableException away) {
      throw new PartlyUnavailableException(
          server.cache().target() + ": " + away.getMessage(), Collections.singletonList(null));
    }
  }

  private static boolean noteRestored(Restored server, CacheRestored restored)
      throws CacheUnavailableException {
    String generation = restored.generation();
    byte[] life = bytes(server.life());
    byte[] began =
        call(
            "count_restored.lua",
            server.cache(),
            new byte[][] {
              server.restoring(), server.restored(generation), server.restoredSlots(generation)
            },
            life,
            bytes(generation),
            bytes(Integer.toString(restored.partition())),
            bytes(Integer.toString(restored.partitions())),
            bytes(RESTORATION_TTL));
    if (began == null || began.length == 0) {
      return false;
    }
    BitSet slots = BitSet.valueOf(began);
    slots.and(server.slots());
    byte[] restoring = server.restoring();
    for (byte[][] keys : markers(slots, 1)) {
      keys[0] = restoring;
      byte[] marked =
          call("mark_slots.lua", server.cache(), keys, life, bytes(generation), bytes(MARKER_TTL));
      if (!isYes(marked)) {
        return false;
      }
    }
    end(server, generation);
    return true;
  }

  /**
   * A server that is being restored, and the slot that stores the progress of the restoration.
   *
   * @param anchor the slot that stores the progress
   */
  private record Restored(RedisDecisionCache cache, String life, BitSet slots, int anchor) {
    /**
     * Returns a server whose restoration begins. The anchor is the first slot of the server from a
     * number that is derived from the run ID. It therefore rarely changes when other slots are
     * moved.
     */
    static Restored of(RedisDecisionCache cache, String life, BitSet slots) {
      int slot = slots.nextSetBit(Math.floorMod(life.hashCode(), SlotHash.SLOT_COUNT));
      return new Restored(cache, life, slots, slot < 0 ? slots.nextSetBit(0) : slot);
    }

    /**
     * Returns this server with the slot that stores a generation; null if no slot stores the
     * generation.
     */
    @Nullable Restored keeping(String generation) throws CacheUnavailableException {
      BitSet first = new BitSet();
      first.set(anchor);
      Restored found = keeping(generation, first);
      return found == null ? keeping(generation, slots) : found;
    }

    private @Nullable Restored keeping(String generation, BitSet among)
        throws CacheUnavailableException {
      int[] all = among.stream().toArray();
      for (int from = 0; from < all.length; from += MAX_MARKERS) {
        byte[][] keys = new byte[Math.min(MAX_MARKERS, all.length - from)][];
        for (int i = 0; i < keys.length; i++) {
          keys[i] = LifeKeys.restoring(all[from + i]);
        }
        byte[] reply = call("find_generation.lua", cache, keys, bytes(generation));
        int number = reply == null ? 0 : Integer.parseInt(text(reply));
        if (number > 0) {
          return new Restored(cache, life, slots, all[from + number - 1]);
        }
      }
      return null;
    }

    byte[] restoring() {
      return LifeKeys.restoring(anchor);
    }

    byte[] restored(String generation) {
      return LifeKeys.restored(anchor, generation);
    }

    byte[] restoredSlots(String generation) {
      return LifeKeys.restoredSlots(anchor, generation);
    }
  }

  /**
   * Returns the markers of slots in groups of at most {@link #MAX_MARKERS}. Each group begins with
   * the given number of empty elements.
   */
  private static List<byte[][]> markers(BitSet slots, int places) {
    int[] all = slots.stream().toArray();
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

  private @Nullable Restored serverOf(String generation) {
    ClusterRoutes routes = cache.topology().routes();
    for (Map.Entry<Server, RedisDecisionCache> each : routes.servers().entrySet()) {
      BitSet slots = routes.map().slotsOf(each.getKey());
      String life = each.getValue().link().life();
      if (generation.startsWith(life + "-") && !slots.isEmpty()) {
        return Restored.of(each.getValue(), life, slots);
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

  private static String text(byte[] reply) {
    return new String(reply, StandardCharsets.US_ASCII);
  }

  private static byte[] bytes(Duration duration) {
    return bytes(Long.toString(duration.toMillis()));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** Does nothing, because the cache closes its connections. */
  @Override
  public void close() {}
}
