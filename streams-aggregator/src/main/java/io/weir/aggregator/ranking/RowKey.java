// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.ranking;

import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The key of a row of the state topic, in its parts. Names stay as they are encoded in keys, which
 * is unambiguous: ASCII without a slash, and {@code @} only in {@code @others}.
 *
 * @param client the client
 * @param meter the meter
 * @param endpoint the endpoint, or {@code @others}
 * @param startEpochMillis start of the window
 */
record RowKey(String client, String meter, String endpoint, long startEpochMillis) {
  private static final int PARTS = 4;
  private static final int START_DIGITS = 15;

  /** Returns the parts of a key; null if it is not the key of a client's row. */
  static @Nullable RowKey parse(byte[] key) {
    if (key.length == 0 || key[0] == '@') {
      return null;
    }
    String[] parts = new String(key, StandardCharsets.UTF_8).split("/", -1);
    if (parts.length != PARTS || !isStart(parts[3])) {
      return null;
    }
    return new RowKey(parts[0], parts[1], parts[2], Long.parseLong(parts[3]));
  }

  private static boolean isStart(String text) {
    return text.length() == START_DIGITS && text.chars().allMatch(c -> c >= '0' && c <= '9');
  }
}
