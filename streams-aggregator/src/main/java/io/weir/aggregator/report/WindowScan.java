// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.aggregator.table.TableStore;
import io.weir.topics.wire.UsageStateCodec;
import java.nio.charset.StandardCharsets;
import java.util.function.ObjLongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A scan of the table that visits the windows of an interval in one pass over the keys, endpoint by
 * endpoint. It skips windows of an endpoint that are too old or too new by a seek. An endpoint
 * without skipped windows needs no seek. Keys that are not keys of usage rows are skipped, so that
 * each returned key is greater than the visited key. Not thread-safe.
 */
final class WindowScan implements TableStore.Visitor {
  /**
   * A suffix that is greater than all digits of a window's start. So it is greater than all keys of
   * an endpoint.
   */
  private static final String BEHIND_STARTS = ":";

  private final String ofMeter;
  private final String fromStart;
  private final String toStart;
  private final ObjLongConsumer<byte[]> into;

  /**
   * Creates a scan.
   *
   * @param ofMeter prefix of the keys of all endpoints of the client and meter; must end with a
   *     slash
   * @param fromEpochMillis start of the range of window starts, inclusive
   * @param toEpochMillis end of the range of window starts, exclusive
   * @param into receives the values and the starts of the windows of the interval
   */
  WindowScan(
      String ofMeter, long fromEpochMillis, long toEpochMillis, ObjLongConsumer<byte[]> into) {
    this.ofMeter = ofMeter;
    this.fromStart = UsageStateCodec.start(fromEpochMillis);
    this.toStart = UsageStateCodec.start(toEpochMillis);
    this.into = into;
  }

  /** Returns the first key to visit. */
  byte[] from() {
    return key(ofMeter);
  }

  /** Returns the end of the keys to visit, exclusive. */
  byte[] to() {
    return key(ofMeter.substring(0, ofMeter.length() - 1) + '0'); // '0' follows '/'
  }

  @Override
  public byte @Nullable [] visit(byte[] key, byte[] value) {
    String text = new String(key, StandardCharsets.UTF_8);
    int startAt = text.indexOf('/', ofMeter.length()) + 1;
    String start = text.substring(startAt);
    if (startAt == 0 || !UsageStateCodec.isStart(start)) {
      return null;
    }
    if (start.compareTo(fromStart) < 0) {
      return key(text.substring(0, startAt) + fromStart);
    }
    if (start.compareTo(toStart) >= 0) {
      return key(text.substring(0, startAt) + BEHIND_STARTS);
    }
    into.accept(value, Long.parseLong(start));
    return null;
  }

  private static byte[] key(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
