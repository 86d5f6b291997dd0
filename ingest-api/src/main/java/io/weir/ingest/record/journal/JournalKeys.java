// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record.journal;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * The keys and values of {@link RocksJournal} on disk, format 1. Numbers are big-endian, so that
 * keys sort by partition and then by number. Sizes in parentheses are in bytes.
 *
 * <pre>
 * 'I'                                → format (4), epoch (8), partitions (4), node (UTF-8)
 * 'L' partition (4) first line (8)   → count (4), the lines
 * 'S' partition (4) batch number (8) → lines before (8), count (4), bytes (4), checksum (4),
 *                                      low watermark (8), epoch (8), lines before the epoch (8)
 * 'B' partition (4)                  → lines before the epoch (8); absent means 0
 * 'M'                                → the last opening: fsync (1), boot id of the machine (UTF-8)
 * 'C'                                → empty; present when the journal was closed normally
 * 'A' partition (4)                  → last acknowledged batch (8), its last line (8), its low
 *                                      watermark (8)
 * </pre>
 */
final class JournalKeys {
  static final int FORMAT = 1;
  static final byte[] IDENTITY = {'I'};
  static final byte[] MACHINE = {'M'};
  static final byte[] CLOSED = {'C'};

  private static final int CHUNK_HEAD_BYTES = Integer.BYTES;
  private static final int MANIFEST_BYTES = 4 * Long.BYTES + 3 * Integer.BYTES;
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
          "the journal has format "
              + format
              + ", but this version of Weir reads only format "
              + FORMAT);
    }
    long epoch = in.getLong();
    int partitions = in.getInt();
    return new JournalIdentity(StandardCharsets.UTF_8.decode(in).toString(), epoch, partitions);
  }

  static byte[] line(int partition, long firstLine) {
    return numbered('L', partition, firstLine);
  }

  static byte[] chunk(Chunk chunk) {
    return ByteBuffer.allocate(CHUNK_HEAD_BYTES + chunk.lines().length)
        .putInt(chunk.count())
        .put(chunk.lines())
        .array();
  }

  /**
   * Decodes a chunk. The journal does not store the times of calls, so the chunk's oldest time is
   * unknown.
   */
  static Chunk chunk(byte[] key, byte[] value) throws JournalException {
    ByteBuffer name = ByteBuffer.wrap(key);
    ByteBuffer in = ByteBuffer.wrap(value);
    long firstLine = name.getLong(1 + Integer.BYTES);
    int count = in.getInt();
    if (count < 1) {
      throw new JournalException(
          "the chunk at line " + firstLine + " must have at least 1 line, " + "but has " + count);
    }
    byte[] lines = new byte[in.remaining()];
    in.get(lines);
    return new Chunk(name.getInt(1), firstLine, count, 0, lines);
  }

  static byte[] manifest(int partition, long batchSequence) {
    return numbered('S', partition, batchSequence);
  }

  static byte[] manifest(BatchManifest manifest) {
    return ByteBuffer.allocate(MANIFEST_BYTES)
        .putLong(manifest.linesBefore())
        .putInt(manifest.count())
        .putInt(manifest.bytes())
        .putInt(manifest.checksum())
        .putLong(manifest.lowWatermarkEpochMillis())
        .putLong(manifest.epoch())
        .putLong(manifest.linesBeforeEpoch())
        .array();
  }

  /**
   * Decodes a manifest.
   *
   * @param firstEpoch epoch of manifests without an epoch, which older versions wrote
   */
  static BatchManifest manifest(byte[] key, byte[] value, long firstEpoch) {
    ByteBuffer name = ByteBuffer.wrap(key);
    ByteBuffer in = ByteBuffer.wrap(value);
    long linesBefore = in.getLong();
    int count = in.getInt();
    int bytes = in.getInt();
    int checksum = in.getInt();
    long lowWatermarkEpochMillis = in.getLong();
    boolean hasEpoch = in.hasRemaining();
    return new BatchManifest(
        name.getInt(1),
        hasEpoch ? in.getLong() : firstEpoch,
        hasEpoch ? in.getLong() : 0,
        name.getLong(1 + Integer.BYTES),
        linesBefore,
        count,
        bytes,
        checksum,
        lowWatermarkEpochMillis);
  }

  static byte[] epochBegin(int partition) {
    return ofPartition('B', partition);
  }

  static byte[] number(long value) {
    return ByteBuffer.allocate(Long.BYTES).putLong(value).array();
  }

  static byte[] machine(boolean fsync, String bootId) {
    byte[] name = bootId.getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(1 + name.length).put((byte) (fsync ? 1 : 0)).put(name).array();
  }

  /** Returns whether the journal was opened with {@code fsync}. */
  static boolean isFsync(byte[] machine) {
    return machine[0] == 1;
  }

  /** Returns the id of the boot during which the journal was open. */
  static String bootId(byte[] machine) {
    return new String(machine, 1, machine.length - 1, StandardCharsets.UTF_8);
  }

  static byte[] acked(int partition) {
    return ofPartition('A', partition);
  }

  static byte[] acked(BatchManifest manifest) {
    return ByteBuffer.allocate(ACKED_BYTES)
        .putLong(manifest.batchSequence())
        .putLong(manifest.linesThrough())
        .putLong(manifest.lowWatermarkEpochMillis())
        .array();
  }

  private static byte[] ofPartition(char kind, int partition) {
    return ByteBuffer.allocate(1 + Integer.BYTES).put((byte) kind).putInt(partition).array();
  }

  private static byte[] numbered(char kind, int partition, long number) {
    return ByteBuffer.allocate(1 + Integer.BYTES + Long.BYTES)
        .put((byte) kind)
        .putInt(partition)
        .putLong(number)
        .array();
  }
}
