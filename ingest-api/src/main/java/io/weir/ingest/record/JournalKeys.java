// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * Keys and values of {@link RocksJournal} on disk, format 1. Numbers are big-endian, so that keys
 * sort by partition, then by number.
 *
 * <pre>
 * 'I'                                → format (4), epoch (8), partitions (4), node (UTF-8)
 * 'L' partition (4) first line (8)   → count (4), the lines
 * 'S' partition (4) batch number (8) → lines before (8), count (4), bytes (4), checksum (4), promise (8)
 * 'A' partition (4)                  → last acknowledged batch (8), its last line (8), its promise (8)
 * </pre>
 */
final class JournalKeys {
  static final int FORMAT = 1;
  static final byte[] IDENTITY = {'I'};
  static final int CHUNK_HEAD_BYTES = Integer.BYTES;

  private static final int SEAL_BYTES = 2 * Long.BYTES + 3 * Integer.BYTES;
  private static final int ACKED_BYTES = 3 * Long.BYTES;

  private JournalKeys() {}

  static byte[] identity(JournalIdentity identity) {
    byte[] node = identity.node().getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(2 * Integer.BYTES + Long.BYTES + node.length)
        .putInt(FORMAT)
        .putLong(identity.epoch())
        .putInt(identity.partitions())
        .put(node)
        .array();
  }

  static JournalIdentity identity(byte[] value) throws JournalException {
    ByteBuffer in = ByteBuffer.wrap(value);
    int format = in.getInt();
    if (format != FORMAT) {
      throw new JournalException(
          "it has format " + format + ", this version of Weir knows format " + FORMAT);
    }
    long epoch = in.getLong();
    int partitions = in.getInt();
    return new JournalIdentity(StandardCharsets.UTF_8.decode(in).toString(), epoch, partitions);
  }

  static byte[] line(int partition, long firstLine) {
    return numbered('L', partition, firstLine);
  }

  static long lineOf(byte[] key) {
    return ByteBuffer.wrap(key).getLong(1 + Integer.BYTES);
  }

  static byte[] chunk(Chunk chunk) {
    return ByteBuffer.allocate(CHUNK_HEAD_BYTES + chunk.lines().length)
        .putInt(chunk.count())
        .put(chunk.lines())
        .array();
  }

  static int countOf(byte[] chunk) {
    return ByteBuffer.wrap(chunk).getInt();
  }

  static byte[] seal(int partition, long batchSequence) {
    return numbered('S', partition, batchSequence);
  }

  static byte[] seal(Seal seal) {
    return ByteBuffer.allocate(SEAL_BYTES)
        .putLong(seal.linesBefore())
        .putInt(seal.count())
        .putInt(seal.bytes())
        .putInt(seal.checksum())
        .putLong(seal.lowWatermarkEpochMillis())
        .array();
  }

  static Seal seal(byte[] key, byte[] value) {
    ByteBuffer name = ByteBuffer.wrap(key);
    ByteBuffer in = ByteBuffer.wrap(value);
    return new Seal(
        name.getInt(1),
        name.getLong(1 + Integer.BYTES),
        in.getLong(),
        in.getInt(),
        in.getInt(),
        in.getInt(),
        in.getLong());
  }

  static byte[] acked(int partition) {
    return ByteBuffer.allocate(1 + Integer.BYTES).put((byte) 'A').putInt(partition).array();
  }

  static byte[] acked(Seal seal) {
    return ByteBuffer.allocate(ACKED_BYTES)
        .putLong(seal.batchSequence())
        .putLong(seal.linesThrough())
        .putLong(seal.lowWatermarkEpochMillis())
        .array();
  }

  private static byte[] numbered(char kind, int partition, long number) {
    return ByteBuffer.allocate(1 + Integer.BYTES + Long.BYTES)
        .put((byte) kind)
        .putInt(partition)
        .putLong(number)
        .array();
  }
}
