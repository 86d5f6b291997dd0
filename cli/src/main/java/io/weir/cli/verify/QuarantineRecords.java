// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.cli.records.CallBatch;
import io.weir.cli.records.CallLineReader;
import io.weir.cli.records.UnreadableException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32C;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;

/**
 * The records of {@code weir.quarantine.v1}. Each record must belong to a refusal of the recount,
 * and each refusal must have a record. Not thread-safe.
 */
final class QuarantineRecords {
  private static final int MAX_PART_BYTES = 2 * 1024 * 1024;
  private static final Pattern LINE = Pattern.compile("\\d{1,9}");
  private static final Pattern PART = Pattern.compile("(\\d{1,4})/\\d{1,4}");

  private final VerifyData data;
  private final CallLineReader reader = new CallLineReader();

  /**
   * For each partition, the time before which the quarantine may lack records of refused calls,
   * because they have expired.
   */
  private final Map<Integer, Long> heldFrom = new HashMap<>();

  QuarantineRecords(VerifyData data) {
    this.data = data;
  }

  /**
   * Records that the first records of a partition have expired, so that records of older calls may
   * be missing.
   */
  void expired(int partition) {
    heldFrom.put(partition, Long.MAX_VALUE);
  }

  void add(ConsumerRecord<@Nullable String, byte @Nullable []> record) {
    heldFrom.computeIfPresent(
        record.partition(), (partition, from) -> Math.min(from, record.timestamp()));
    String where = "quarantine " + record.partition() + ":" + record.offset();
    String source = header(record, "weir-source");
    LinePlace refused = LinePlace.ofSource(source);
    String line = header(record, "weir-line");
    Matcher part = PART.matcher(header(record, "weir-part"));
    byte[] value = record.value();
    if (refused == null || (!line.isEmpty() && !LINE.matcher(line).matches()) || value == null) {
      data.differences.add(where + " does not identify the refused record or line");
      return;
    }
    LinePlace place = line.isEmpty() ? refused : refused.line(Integer.parseInt(line));
    byte[] key = key(place, part.matches() ? Integer.parseInt(part.group(1)) : 1);
    if (data.scratch.get(key) != null && !data.mayRepeat) {
      data.differences.add(
          where + " is a repetition: " + source + (line.isEmpty() ? "" : " line " + line));
    }
    data.scratch.put(
        key, bytes(place.line() == 0 ? checksum(value, 0, value.length) : digest(value)));
  }

  /** Returns the digest of the only line of a batch; 0, which is no digest, for another value. */
  private long digest(byte[] value) {
    try {
      return reader.read(value) == 1 ? reader.digest(1) : 0;
    } catch (UnreadableException unreadable) {
      return 0;
    }
  }

  /** Records that the recount refuses a record for a reason. */
  void refusedRecord(
      ConsumerRecord<@Nullable String, byte @Nullable []> record, LinePlace place, String reason) {
    byte[] value = record.value() == null ? new byte[0] : record.value();
    if (!keepsRecordsOf(record)) {
      return;
    }
    int part = 1;
    int from = 0;
    do {
      int bytes = Math.min(MAX_PART_BYTES, value.length - from);
      if (!takePart(place, part, checksum(value, from, bytes), reason)) {
        return;
      }
      from += bytes;
      part++;
    } while (from < value.length);
  }

  /** Records that the recount refuses a line for a reason. */
  void refusedLine(
      ConsumerRecord<@Nullable String, byte @Nullable []> record,
      LinePlace place,
      long digest,
      String reason) {
    if (keepsRecordsOf(record)) {
      takePart(place, 1, digest, reason);
    }
  }

  /**
   * Removes a part of a refused record, or a refused line.
   *
   * @return whether it was present
   */
  private boolean takePart(LinePlace place, int part, long checksum, String reason) {
    byte[] key = key(place, part);
    byte[] known = data.scratch.get(key);
    if (known == null) {
      data.differences.add(place + " is refused (" + reason + "), but is not in the quarantine");
      return false;
    }
    if (!Arrays.equals(known, bytes(checksum))) {
      data.differences.add(place + " is in the quarantine with other bytes");
    }
    data.scratch.delete(key);
    return true;
  }

  /**
   * Returns whether the quarantine still has the records that a record of the calls topic caused.
   */
  boolean keepsRecordsOf(ConsumerRecord<@Nullable String, byte @Nullable []> record) {
    return record.timestamp() >= heldFrom.getOrDefault(record.partition(), Long.MIN_VALUE);
  }

  /**
   * Removes a line.
   *
   * @return whether the line was present
   */
  boolean take(LinePlace place) {
    return data.scratch.take(key(place, 1));
  }

  /**
   * Reports the records that belong to no refusal.
   *
   * @param begins the first offset of each partition of the calls topic
   * @param ends the offset after the last recounted record, by partition
   */
  void finish(Map<Integer, Long> begins, Map<Integer, Long> ends) {
    data.scratch.scan(
        Scratch.QUARANTINED,
        (key, value) -> {
          LinePlace place = LinePlace.ofKey(key);
          if (place.isIn(begins, ends)) {
            data.differences.add(place + " is in the quarantine, but has no fault");
          }
          return true;
        });
  }

  private static byte[] key(LinePlace place, int part) {
    return place.key(Scratch.QUARANTINED, Integer.BYTES).putInt(part).array();
  }

  private static long checksum(byte[] value, int start, int length) {
    CRC32C checksum = new CRC32C();
    checksum.update(value, start, length);
    return checksum.getValue();
  }

  private static byte[] bytes(long checksum) {
    return ByteBuffer.allocate(Long.BYTES).putLong(checksum).array();
  }

  private static String header(
      ConsumerRecord<@Nullable String, byte @Nullable []> record, String name) {
    String text = CallBatch.text(record, name);
    return text == null ? "" : text;
  }
}
