// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.ranking;

import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The parsed key of a row of the state topic. The names remain encoded. An encoded name is ASCII
 * without a slash, and only {@code @others} contains {@code @}.
 *
 * @param client the encoded client
 * @param meter the encoded meter
 * @param endpoint the encoded endpoint, or {@code @others}
 * @param startEpochMillis start of the window
 */
record StateRowKey(String client, String meter, String endpoint, long startEpochMillis) {
  private static final int DECIMAL = 10;
  private static final int START_DIGITS = 15;

  /** Parses a key. Returns null if the key is not the key of a client's row. */
  static @Nullable StateRowKey parse(byte[] key) {
    if (key.length == 0 || key[0] == '@') {
      return null;
    }
    String text = new String(key, StandardCharsets.UTF_8);
    int meter = text.indexOf('/') + 1;
    int endpoint = meter == 0 ? 0 : text.indexOf('/', meter) + 1;
    int start = endpoint == 0 ? 0 : text.indexOf('/', endpoint) + 1;
    if (start == 0 || !isStart(text, start)) {
      return null;
    }
    return new StateRowKey(
        text.substring(0, meter - 1),
        text.substring(meter, endpoint - 1),
        text.substring(endpoint, start - 1),
        Long.parseLong(text, start, text.length(), DECIMAL));
  }

  private static boolean isStart(String text, int from) {
    if (text.length() - from != START_DIGITS) {
      return false;
    }
    for (int i = from; i < text.length(); i++) {
      if (text.charAt(i) < '0' || text.charAt(i) > '9') {
        return false;
      }
    }
    return true;
  }
}
