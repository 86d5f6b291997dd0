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
 * 'S' partition (4) batch number (8) → lines before (8), count (4), bytes (4), checksum (4), promise (8),
 *                                      epoch (8), lines before the epoch (8)
 * 'B' partition (4)                  → lines before the epoch (8); absent means 0
 * 'M'                                → of the machine that has it open: fsync (1), its start (UTF-8)
 * 'C'                                → nothing; there when the journal was closed in order
 * 'A' partition (4)                  → last acknowledged batch (8), its last line (8), its promise (8)
 * </pre>
 */
final class JournalKeys {
  static final int FORMAT = 1;
  static final byte[] IDENTITY = {'I'};
  static final int CHUNK_HEAD_BYTES = Integer.BYTES;

  static final byte[] MACHINE = {'M'};
  static final byte[] CLOSED = {'C'};

  private static final int SEAL_BYTES = 4 * Long.BYTES + 3 * Integer.BYTES;
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
        .putLong(seal.epoch())
        .putLong(seal.linesBeforeEpoch())
        .array();
  }

  /**
   * A seal.
   *
   * @param firstEpoch of seals that were written when a journal had one epoch only
   */
  static Seal seal(byte[] key, byte[] value, long firstEpoch) {
    ByteBuffer name = ByteBuffer.wrap(key);
    ByteBuffer in = ByteBuffer.wrap(value);
    long linesBefore = in.getLong();
    int count = in.getInt();
    int bytes = in.getInt();
    int checksum = in.getInt();
    long promise = in.getLong();
    boolean hasEpoch = in.hasRemaining();
    return new Seal(
        name.getInt(1),
        hasEpoch ? in.getLong() : firstEpoch,
        hasEpoch ? in.getLong() : 0,
        name.getLong(1 + Integer.BYTES),
        linesBefore,
        count,
        bytes,
        checksum,
        promise);
  }

  static byte[] epochBegin(int partition) {
    return ByteBuffer.allocate(1 + Integer.BYTES).put((byte) 'B').putInt(partition).array();
  }

  static byte[] number(long value) {
    return ByteBuffer.allocate(Long.BYTES).putLong(value).array();
  }

  static byte[] machine(boolean fsync, String start) {
    byte[] name = start.getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(1 + name.length).put((byte) (fsync ? 1 : 0)).put(name).array();
  }

  /** Whether writes waited for the disk. */
  static boolean waitedForTheDisk(byte[] machine) {
    return machine[0] == 1;
  }

  /** Which start of which machine it was. */
  static String machineStart(byte[] machine) {
    return new String(machine, 1, machine.length - 1, StandardCharsets.UTF_8);
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
