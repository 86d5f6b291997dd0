// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.cluster.SlotHash;
import io.weir.decision.redis.RedisAddress.Server;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The connections to the servers of a cluster, by slot. Immutable.
 *
 * @param map which server holds each slot
 * @param servers the connections to its servers
 * @param bySlot the connection to the holder of each slot
 */
@SuppressWarnings("ArrayRecordComponent") // never compared, never modified
record ClusterRoutes(
    ClusterMap map,
    Map<Server, RedisDecisionCache> servers,
    @Nullable RedisDecisionCache[] bySlot) {
  static final ClusterRoutes NONE = of(ClusterMap.EMPTY, Map.of());

  static ClusterRoutes of(ClusterMap map, Map<Server, RedisDecisionCache> servers) {
    @Nullable RedisDecisionCache[] bySlot = new RedisDecisionCache[SlotHash.SLOT_COUNT];
    for (int slot = 0; slot < bySlot.length; slot++) {
      Server holder = map.holder(slot);
      bySlot[slot] = holder == null ? null : servers.get(holder);
    }
    return new ClusterRoutes(map, Map.copyOf(servers), bySlot);
  }

  /** Returns the connection to the holder of a key; null if no server is known to hold it. */
  @Nullable RedisDecisionCache holder(String key) {
    return bySlot[SlotHash.getSlot(key)];
  }

  /**
   * Returns the connection to the holder of a key.
   *
   * @throws IllegalStateException if no server is known to hold it
   */
  RedisDecisionCache held(String key) {
    RedisDecisionCache holder = holder(key);
    if (holder == null) {
      throw new IllegalStateException("no server holds the slot of " + key);
    }
    return holder;
  }
}
