// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.cluster.SlotHash;
import io.weir.limits.BucketKey;
import java.nio.charset.StandardCharsets;

/**
 * The keys that store whether the cache is restored, and the name of a channel. The keys of buckets
 * have other prefixes.
 */
final class LifeKeys {
  private static final String PREFIX = BucketKey.VERSION + ":@";

  /**
   * Key of the marker. The value is the {@code run_id} of the server on which the state is
   * complete.
   */
  private static final byte[] MARKER = bytes("warm");

  /** Key of the generation that is being restored. */
  private static final byte[] RESTORING = bytes("restoring");

  /**
   * Name of the channel with the keys of raised buckets. The script {@code correct_buckets.lua}
   * publishes a bucket's key when it adds tokens to the bucket.
   */
  private static final byte[] RAISED = bytes("raised");

  private LifeKeys() {}

  static byte[] marker() {
    return MARKER.clone();
  }

  /** Returns the key of a slot's marker in a cluster. The key itself is in this slot. */
  static byte[] marker(int slot) {
    return bytes("warm" + tag(slot));
  }

  static byte[] restoring() {
    return RESTORING.clone();
  }

  /**
   * Returns the key of the generation that is being restored on a server of a cluster. All keys of
   * a restoration are in the slot of the generation's hash tag.
   */
  static byte[] restoring(String generation) {
    return bytes("restoring" + tag(SlotHash.getSlot(generation)));
  }

  static byte[] raised() {
    return RAISED.clone();
  }

  /** Returns the key with which a connection tests the permissions of its user. */
  static byte[] permissions() {
    return bytes("permissions");
  }

  /** Returns the key of the set of partitions that are restored for a generation. */
  static byte[] restored(String generation) {
    return bytes("restored:" + generation);
  }

  /**
   * Returns the key of a set of slots: the slots that a server of a cluster held when its
   * restoration began.
   */
  static byte[] restoredSlots(String generation) {
    return bytes("slots:" + generation);
  }

  private static String tag(int slot) {
    return "{" + SlotTags.of(slot) + "}";
  }

  private static byte[] bytes(String name) {
    return (PREFIX + name).getBytes(StandardCharsets.UTF_8);
  }
}
