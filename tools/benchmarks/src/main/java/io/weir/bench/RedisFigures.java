// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.lettuce.core.KeyScanCursor;
import io.lettuce.core.ScanArgs;
import io.lettuce.core.ScanCursor;
import io.lettuce.core.api.sync.RedisCommands;
import java.util.List;

/** Reads the CPU and memory use that servers report. */
final class RedisFigures {
  private RedisFigures() {}

  /** Returns the CPU seconds, user and system, of all servers. */
  static double cpuSeconds(List<RedisCommands<String, byte[]>> servers) {
    return servers.stream()
        .map(server -> server.info("cpu"))
        .mapToDouble(info -> value(info, "used_cpu_user:") + value(info, "used_cpu_sys:"))
        .sum();
  }

  private static double value(String info, String name) {
    int start = info.indexOf(name) + name.length();
    return Double.parseDouble(info.substring(start, info.indexOf('\r', start)));
  }

  /** Returns the bytes of all keys that match a pattern, on all servers. */
  static long bytes(List<RedisCommands<String, byte[]>> servers, String pattern) {
    return servers.stream().mapToLong(server -> bytes(server, pattern)).sum();
  }

  private static long bytes(RedisCommands<String, byte[]> redis, String pattern) {
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
