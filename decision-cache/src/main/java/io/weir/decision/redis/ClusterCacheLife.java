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
 * Tracks which servers of a cluster have lost their state. Each slot has a marker of its own, in
 * that slot, which holds the run ID of the server on which the slot's state is complete:
 *
 * <ul>
 *   <li>A flush loses the markers with the buckets; a restart and a failover change the run ID.
 *   <li>A slot that is moved takes its marker along. The marker then holds the run ID of the server
 *       from which it came. It is accepted, and written anew, by a server that was seen warm in
 *       this life before, while the other is connected and says itself that it has handed the slot
 *       over ({@link ClusterMap#hasHandedOver}), or was so a moment ago. So it is not accepted by a
 *       replica that takes a server's place, of which it has all markers.
 *   <li>A slot that is assigned without its keys has no marker.
 * </ul>
 *
 * <p>A server of which any slot is cold is restored as a whole, alone: the others decide on, and
 * take the corrections that are published again as repetitions. When that begins, its cold markers
 * are deleted, on its replicas, too, so that none of them is found again by a server that comes
 * back. Thread-safe.
 */
final class ClusterCacheLife implements CacheLife {
  private static final Logger LOG = LoggerFactory.getLogger(ClusterCacheLife.class);

  /** How long the markers outlive a deployment without any node; after that the slots are cold. */
  private static final Duration MARKER_TTL = Duration.ofHours(1);

  /** How long a restoration may make no progress; after that any node may begin another. */
  private static final Duration RESTORATION_TTL = Duration.ofMinutes(1);

  /** Markers in one script call, which takes a server about a millisecond. */
  private static final int MAX_MARKERS = 1_000;

  /** How long a slot may look cold while it becomes known that it was moved with its keys. */
  private static final Duration SETTLING = Duration.ofSeconds(2);

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

    /** Whether it was warm in this life, and has not been found cold for good since. */
    private boolean wasWarm;

    /** Until when a cold slot may be one whose move is not known everywhere; 0 if there is none. */
    private long settlesNanos;

    /** Whether slots have come to it since all of its slots were warm. */
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

  /** Returns whether slots of a warm server look cold that may have come to it just now. */
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

  /** Looks at all slots of a server if they may have changed, otherwise at some in turn. */
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
        throw new CacheUnavailableException("the reply tells of other slots than were asked");
      }
      for (int i = 0; i < count; i++) {
        // one that is on its way is looked at where it arrives
        if (found[i] == '0') {
          state.coldSlot = slots[from + i];
          warm = false;
        }
      }
    }
    return warm;
  }

  /** Returns the run IDs of the servers from which slots may have come with all they held. */
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
      // another node may have begun one meanwhile; then there is nothing to abandon
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
   * Records that a partition is restored on the server of the generation. Slots that have come to
   * it since the restoration began are not marked. If the server has left, or is in another life,
   * this has no effect.
   *
   * @throws PartlyUnavailableException if the server does not answer
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
   * A server that is being restored, and where it keeps what is known of that.
   *
   * @param anchor the slot in which it is kept
   */
  private record Restored(RedisDecisionCache cache, String life, BitSet slots, int anchor) {
    /**
     * Returns a server whose restoration begins: it is kept in the slot that follows a number which
     * the server's life gives, so that it mostly stays there while other slots come and go.
     */
    static Restored of(RedisDecisionCache cache, String life, BitSet slots) {
      int slot = slots.nextSetBit(Math.floorMod(life.hashCode(), SlotHash.SLOT_COUNT));
      return new Restored(cache, life, slots, slot < 0 ? slots.nextSetBit(0) : slot);
    }

    /** Returns this with the slot in which a generation is kept; null if it is kept in none. */
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

  /** Returns the markers of slots, as many as a call takes, behind some empty places. */
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

  /** Does nothing: the connections belong to the cache. */
  @Override
  public void close() {}
}
