// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.cluster.SlotHash;
import io.weir.decision.redis.RedisAddress.Server;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The connections to the servers of a cluster, by slot. Immutable. */
final class ClusterRoutes {
  static final ClusterRoutes NONE = of(ClusterMap.EMPTY, Map.of());

  private final ClusterMap map;
  private final Map<Server, RedisDecisionCache> servers;
  private final @Nullable RedisDecisionCache[] bySlot;

  private ClusterRoutes(
      ClusterMap map,
      Map<Server, RedisDecisionCache> servers,
      @Nullable RedisDecisionCache[] bySlot) {
    this.map = map;
    this.servers = servers;
    this.bySlot = bySlot;
  }

  static ClusterRoutes of(ClusterMap map, Map<Server, RedisDecisionCache> servers) {
    @Nullable RedisDecisionCache[] bySlot = new RedisDecisionCache[SlotHash.SLOT_COUNT];
    for (int slot = 0; slot < bySlot.length; slot++) {
      Server holder = map.holder(slot);
      bySlot[slot] = holder == null ? null : servers.get(holder);
    }
    return new ClusterRoutes(map, Map.copyOf(servers), bySlot);
  }

  /** Returns the map of slots to servers. */
  ClusterMap map() {
    return map;
  }

  /** Returns the connections to the servers. */
  Map<Server, RedisDecisionCache> servers() {
    return servers;
  }

  /** Returns the connection to the server that holds a slot; null if the server is unknown. */
  @Nullable RedisDecisionCache holder(int slot) {
    return bySlot[slot];
  }

  /** Returns the connection to the server that holds a key; null if the server is unknown. */
  @Nullable RedisDecisionCache holder(String key) {
    return holder(SlotHash.getSlot(key));
  }
}
