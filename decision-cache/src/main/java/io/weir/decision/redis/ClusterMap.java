// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.cluster.SlotHash;
import io.weir.decision.redis.ClusterView.Primary;
import io.weir.decision.redis.RedisAddress.Server;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A map from each slot of a cluster to the server that holds the slot. The map is merged from the
 * views of several servers. If several servers claim a slot, the server with the greatest
 * configuration epoch holds the slot. Redis uses the same rule (Redis Cluster Specification, "Hash
 * slots configuration propagation"). A server in a minority partition may still claim slots that
 * another server has taken over. The map ignores this old claim if a view contains the claim of the
 * new holder. Immutable.
 */
final class ClusterMap {
  static final ClusterMap EMPTY = merge(Set.of());

  private final Server[] holders;
  private final Set<Server> servers;
  private final Map<Server, ClusterView> views;

  private ClusterMap(Server[] holders, Set<Server> servers, Map<Server, ClusterView> views) {
    this.holders = holders;
    this.servers = Set.copyOf(servers);
    this.views = Map.copyOf(views);
  }

  /**
   * Merges views into a map. The views belong to several clusters if a server has left this
   * cluster, or if its address now belongs to a server of another cluster. The map then uses only
   * the views of the cluster with the most servers.
   */
  static ClusterMap merge(Collection<ClusterView> all) {
    List<ClusterView> views = ofOneCluster(List.copyOf(all));
    @Nullable Server[] holders = new Server[SlotHash.SLOT_COUNT];
    long[] epochs = new long[holders.length];
    Arrays.fill(epochs, -1);
    Map<String, Server> named = new LinkedHashMap<>();
    Map<Server, ClusterView> byServer = new HashMap<>();
    for (ClusterView view : views) {
      byServer.put(view.asked(), view);
      for (Primary primary : view.primaries()) {
        if (!primary.hasFailed()) {
          named.put(primary.id(), primary.server());
        }
        primary.slots().stream()
            .filter(slot -> primary.configEpoch() > epochs[slot])
            .forEach(
                slot -> {
                  epochs[slot] = primary.configEpoch();
                  holders[slot] = primary.server();
                });
      }
    }
    Set<Server> servers = new HashSet<>(named.values());
    for (Server holder : holders) {
      if (holder != null) {
        servers.add(holder);
      }
    }
    return new ClusterMap(holders, servers, byServer);
  }

  private static List<ClusterView> ofOneCluster(List<ClusterView> views) {
    List<ClusterView> most = List.of();
    for (ClusterView first : views) {
      List<ClusterView> together = new ArrayList<>(List.of(first));
      for (int i = 0; i < together.size(); i++) {
        ClusterView each = together.get(i);
        views.stream()
            .filter(other -> !together.contains(other) && other.isOfOneClusterWith(each))
            .forEach(together::add);
      }
      if (together.size() > most.size()) {
        most = together;
      }
    }
    return most;
  }

  /** Returns the server that holds a slot; null if the server is unknown. */
  @Nullable Server holder(int slot) {
    return holders[slot];
  }

  /** Returns the primaries, including primaries without slots. */
  Set<Server> servers() {
    return servers;
  }

  /** Returns the slots that a server holds. */
  BitSet slotsOf(Server server) {
    BitSet slots = new BitSet(holders.length);
    for (int slot = 0; slot < holders.length; slot++) {
      if (server.equals(holders[slot])) {
        slots.set(slot);
      }
    }
    return slots;
  }

  /** Returns whether every slot has a holder. */
  boolean isComplete() {
    return Arrays.stream(holders).noneMatch(holder -> holder == null);
  }

  /**
   * Returns whether the server {@code from} reports {@code to} as the holder of all slots that
   * {@code to} holds in this map.
   */
  boolean hasHandedOver(Server from, Server to) {
    ClusterView view = views.get(from);
    if (view == null) {
      return false;
    }
    BitSet slots = slotsOf(to);
    slots.andNot(view.slotsOf(to));
    return slots.isEmpty();
  }

  /** Returns whether another map has the same servers, and each slot has the same server. */
  boolean sameSlots(ClusterMap other) {
    return servers.equals(other.servers) && Arrays.equals(holders, other.holders);
  }
}
