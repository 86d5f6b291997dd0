// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.weir.limits.BucketKey;
import java.nio.charset.StandardCharsets;

/** Keys that tell about the life of the cache. No bucket's key begins like them. */
final class LifeKeys {
  private static final String PREFIX = BucketKey.VERSION + ":@";

  /** Holds the life whose state is whole: the {@code run_id} of the server it was restored on. */
  private static final byte[] MARKER = bytes("warm");

  /** Holds the generation that is being restored. */
  private static final byte[] RESTORING = bytes("restoring");

  private LifeKeys() {}

  static byte[] marker() {
    return MARKER.clone();
  }

  static byte[] restoring() {
    return RESTORING.clone();
  }

  /** The set of partitions that a generation has been restored for. */
  static byte[] restored(String generation) {
    return bytes("restored:" + generation);
  }

  private static byte[] bytes(String name) {
    return (PREFIX + name).getBytes(StandardCharsets.UTF_8);
  }
}
