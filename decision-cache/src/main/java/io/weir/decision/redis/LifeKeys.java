// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.weir.limits.BucketKey;
import java.nio.charset.StandardCharsets;

/**
 * Keys of the cache's warm or cold state, and the name of its channel. No bucket's key has the same
 * prefix.
 */
final class LifeKeys {
  private static final String PREFIX = BucketKey.VERSION + ":@";

  /** Holds the {@code run_id} of the server whose state is complete. */
  private static final byte[] MARKER = bytes("warm");

  /** Holds the generation that is being restored. */
  private static final byte[] RESTORING = bytes("restoring");

  /**
   * The channel on which {@code correct_buckets.lua} publishes the keys of buckets that it has
   * given tokens.
   */
  private static final byte[] RAISED = bytes("raised");

  private LifeKeys() {}

  static byte[] marker() {
    return MARKER.clone();
  }

  /** Returns the marker of a slot of a cluster, which lies in that slot. */
  static byte[] marker(int slot) {
    return bytes("warm" + tag(slot));
  }

  static byte[] restoring() {
    return RESTORING.clone();
  }

  /** Returns the key of the generation that is being restored on a server which holds a slot. */
  static byte[] restoring(int slot) {
    return bytes("restoring" + tag(slot));
  }

  static byte[] raised() {
    return RAISED.clone();
  }

  /** Returns the key of the set of partitions restored for a generation. */
  static byte[] restored(String generation) {
    return bytes("restored:" + generation);
  }

  /** Returns the key of the set of partitions restored on a server which holds a slot. */
  static byte[] restored(int slot, String generation) {
    return bytes("restored" + tag(slot) + ":" + generation);
  }

  /**
   * Returns the key of the slots of a server, which holds a slot, at the beginning of a
   * restoration.
   */
  static byte[] restoredSlots(int slot, String generation) {
    return bytes("slots" + tag(slot) + ":" + generation);
  }

  private static String tag(int slot) {
    return "{" + SlotTags.of(slot) + "}";
  }

  private static byte[] bytes(String name) {
    return (PREFIX + name).getBytes(StandardCharsets.UTF_8);
  }
}
