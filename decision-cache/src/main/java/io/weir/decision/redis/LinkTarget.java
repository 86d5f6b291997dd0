// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.RedisURI;

/**
 * The server to which a {@link RedisLink} connects.
 *
 * @param uri the server's address and credentials
 * @param shown the server's address without credentials
 * @param kind the kind of server
 */
record LinkTarget(RedisURI uri, String shown, ServerKind kind) {
  /** Returns the single server that the settings name. */
  static LinkTarget of(RedisCacheConfig config) {
    RedisAddress address = RedisAddress.of(config.uri());
    return new LinkTarget(
        address.toLettuce(config.access()), address.toString(), ServerKind.SINGLE);
  }

  /** Returns the target for one server of a cluster. */
  static LinkTarget of(RedisAddress cluster, RedisAddress.Server server) {
    return new LinkTarget(cluster.toLettuce(server), cluster.shown(server), ServerKind.OF_CLUSTER);
  }

  /** Returns the address without credentials. */
  @Override
  public String toString() {
    return shown;
  }
}
