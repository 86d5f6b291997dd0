// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.cluster.SlotHash;

/**
 * Hash tags for the slots of a cluster. The hash tag of a slot is a fixed short text that hashes to
 * the slot.
 */
final class SlotTags {
  private static final String[] TAGS = tags();

  private SlotTags() {}

  private static String[] tags() {
    String[] tags = new String[SlotHash.SLOT_COUNT];
    int missing = tags.length;
    for (int i = 0; missing > 0; i++) {
      String tag = Integer.toString(i, Character.MAX_RADIX);
      int slot = SlotHash.getSlot(tag);
      if (tags[slot] == null) {
        tags[slot] = tag;
        missing--;
      }
    }
    return tags;
  }

  /** Returns the hash tag of a slot. */
  static String of(int slot) {
    return TAGS[slot];
  }
}
