// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.limits.BilledIn;
import io.weir.limits.BillingPeriod;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageWindow;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The key of one row of the ledger. The bytes of a key begin with the start of the window in
 * big-endian order. So a store returns rows in the order in which their windows close. The names
 * follow, each preceded by its length, so that different keys have different bytes.
 *
 * @param windowStartEpochMillis first millisecond of the window
 * @param client the client of the calls
 * @param meter the meter of the calls
 * @param endpoint the endpoint of the calls; empty for the others row. The others row sums all
 *     endpoints of the client and meter that have no row of their own. The endpoint of a call is
 *     never empty
 */
record RowKey(long windowStartEpochMillis, String client, String meter, String endpoint) {

  byte[] toBytes() {
    byte[] clientUtf8 = client.getBytes(StandardCharsets.UTF_8);
    byte[] meterUtf8 = meter.getBytes(StandardCharsets.UTF_8);
    byte[] endpointUtf8 = endpoint.getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(
            Long.BYTES
                + 3 * Short.BYTES
                + clientUtf8.length
                + meterUtf8.length
                + endpointUtf8.length)
        .putLong(windowStartEpochMillis)
        .putShort((short) clientUtf8.length)
        .put(clientUtf8)
        .putShort((short) meterUtf8.length)
        .put(meterUtf8)
        .putShort((short) endpointUtf8.length)
        .put(endpointUtf8)
        .array();
  }

  static RowKey ofBytes(byte[] bytes) {
    ByteBuffer key = ByteBuffer.wrap(bytes);
    return new RowKey(key.getLong(), text(key), text(key), text(key));
  }

  private static String text(ByteBuffer key) {
    int length = key.getShort();
    byte[] utf8 = new byte[length];
    key.get(utf8);
    return new String(utf8, StandardCharsets.UTF_8);
  }

  /** Returns whether this is the others row. */
  boolean isOthers() {
    return endpoint.isEmpty();
  }

  /** Returns the key of the others row of this window, client and meter. */
  RowKey others() {
    return new RowKey(windowStartEpochMillis, client, meter, "");
  }

  /** Returns the upper bound of the keys of this window, client and meter, exclusive. */
  byte[] endOfMeter() {
    byte[] end = others().toBytes();
    // a length that no endpoint has
    end[end.length - 2] = Byte.MAX_VALUE;
    return end;
  }

  /** Returns the lower bound of the keys of windows that start at or after a time. */
  static byte[] from(long epochMillis) {
    return ByteBuffer.allocate(Long.BYTES).putLong(epochMillis).array();
  }

  UsageKey usageKey() {
    return isOthers() ? UsageKey.others(client, meter) : new UsageKey(client, meter, endpoint);
  }

  /**
   * Returns the billing period of this row; {@code first} is the row's first call. Returns null if
   * the period is the month in UTC.
   */
  @Nullable BillingPeriod ownPeriod(CallEvent first) {
    BilledIn billing = first.billing();
    return billing == null ? null : billing.ofWindow(windowStartEpochMillis);
  }

  UsageWindow window(long sizeMillis) {
    return new UsageWindow(windowStartEpochMillis, windowStartEpochMillis + sizeMillis);
  }
}
