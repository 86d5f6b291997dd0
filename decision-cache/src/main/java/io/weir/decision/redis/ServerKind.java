// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

/** The kinds of Redis servers. */
enum ServerKind {
  /** A server that holds all keys, alone or with replicas. */
  SINGLE,
  /**
   * A primary of a Redis Cluster, which holds the keys of its slots. It rejects a command with keys
   * of several slots, so scripts receive the keys as arguments.
   */
  OF_CLUSTER
}
