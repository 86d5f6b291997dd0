// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

/** The two ways in which a server is asked. */
enum ServerKind {
  /** A server that holds all keys, alone or with replicas. */
  SINGLE,
  /**
   * A primary of a Redis Cluster. It holds the keys of its slots, and takes no command with keys of
   * several slots, so scripts get them as arguments.
   */
  OF_CLUSTER
}
