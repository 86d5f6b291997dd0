// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.lettuce.core.KeyScanCursor;
import io.lettuce.core.ScanArgs;
import io.lettuce.core.ScanCursor;
import io.lettuce.core.api.sync.RedisCommands;

/** What a server says of its use of CPU and memory. */
final class RedisFigures {
  private RedisFigures() {}

  /** Returns the CPU seconds of a server, user and system, from its section {@code cpu}. */
  static double cpuSeconds(String info) {
    return value(info, "used_cpu_user:") + value(info, "used_cpu_sys:");
  }

  private static double value(String info, String name) {
    int start = info.indexOf(name) + name.length();
    return Double.parseDouble(info.substring(start, info.indexOf('\r', start)));
  }

  /** Returns the bytes that all keys of a pattern take. */
  static long bytes(RedisCommands<String, byte[]> redis, String pattern) {
    long bytes = 0;
    ScanCursor cursor = ScanCursor.INITIAL;
    while (!cursor.isFinished()) {
      KeyScanCursor<String> found =
          redis.scan(cursor, ScanArgs.Builder.matches(pattern).limit(1_000));
      for (String key : found.getKeys()) {
        Long used = redis.memoryUsage(key);
        bytes += used == null ? 0 : used;
      }
      cursor = found;
    }
    return bytes;
  }
}
