// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.cli.records.CallBatch;
import io.weir.topics.model.UsagePosition;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The checksum of the first line at each position of each journal. The checksum distinguishes a
 * duplicate from a different line at the same position. Each line takes four bytes on disk. Not
 * thread-safe.
 */
final class SeenLines {
  private static final int PLACE_BYTES = 2 * Long.BYTES;

  private final Scratch scratch;
  private static final byte REFUSED = 0;
  private static final byte REPLAYED = 1;

  private byte @Nullable [] foundKey;
  private byte[] found = {};

  SeenLines(Scratch scratch) {
    this.scratch = scratch;
  }

  /** Returns the checksum of a line, from its digest. */
  static int checksum(long digest) {
    return Long.hashCode(digest);
  }

  /** Returns the checksum of a whole record. */
  static int checksum(byte[] value) {
    CRC32C checksum = new CRC32C();
    checksum.update(value);
    return (int) checksum.getValue();
  }

  /**
   * Stores the checksums of consecutive lines.
   *
   * @param first position of the first line
   * @param offset offset of the record that contains them
   */
  void keep(int partition, CallBatch batch, long first, int[] checksums, int count, long offset) {
    ByteBuffer value = ByteBuffer.allocate(PLACE_BYTES + count * Integer.BYTES);
    value.putLong(first).putLong(offset);
    for (int i = 0; i < count; i++) {
      value.putInt(checksums[i]);
    }
    scratch.put(key(partition, batch, first + count - 1), value.array());
  }

  /**
   * Returns the offset of the record that already has a different line at this position. Returns −1
   * if the lines are equal, or if the first line has expired.
   */
  long otherAt(int partition, CallBatch batch, long position, int checksum) {
    find(partition, batch, position);
    ByteBuffer value = ByteBuffer.wrap(found);
    long first = foundKey == null ? Long.MAX_VALUE : value.getLong();
    if (position < first) {
      return -1;
    }
    long offset = value.getLong();
    int known = value.getInt(PLACE_BYTES + Math.toIntExact(position - first) * Integer.BYTES);
    return known == checksum ? -1 : offset;
  }

  /** Records that a line was refused, so that no settlement may refer to it. */
  void refuse(UsagePosition line) {
    scratch.put(fateKey(line), new byte[] {REFUSED});
  }

  /** Records that a refused line was replayed and counted. */
  void replay(UsagePosition line) {
    scratch.put(fateKey(line), new byte[] {REPLAYED});
  }

  boolean isRefused(UsagePosition line) {
    return is(line, REFUSED);
  }

  boolean isReplayed(UsagePosition line) {
    return is(line, REPLAYED);
  }

  private boolean is(UsagePosition line, byte fate) {
    byte[] known = scratch.get(fateKey(line));
    return known != null && known[0] == fate;
  }

  private static byte[] fateKey(UsagePosition line) {
    byte[] place = line.toString().getBytes(StandardCharsets.UTF_8);
    return Scratch.key(Scratch.FATE, place.length).put(place).array();
  }

  private void find(int partition, CallBatch batch, long position) {
    byte[] from = key(partition, batch, position);
    byte[] lastFound = foundKey;
    int journalBytes = from.length - Long.BYTES;
    if (lastFound != null
        && Arrays.equals(
            lastFound, 0, Math.min(journalBytes, lastFound.length), from, 0, journalBytes)
        && Arrays.compareUnsigned(lastFound, from) >= 0
        && ByteBuffer.wrap(found).getLong() <= position) {
      return;
    }
    foundKey = null;
    scratch.scan(
        from,
        key(partition, batch, Long.MAX_VALUE),
        (key, value) -> {
          foundKey = key;
          found = value;
          return false;
        });
  }

  private static byte[] key(int partition, CallBatch batch, long position) {
    byte[] node = (batch.node() + '\n').getBytes(StandardCharsets.US_ASCII);
    return Scratch.key(Scratch.LINES, Integer.BYTES + PLACE_BYTES + node.length)
        .putInt(partition)
        .putLong(batch.epoch())
        .put(node)
        .putLong(position)
        .array();
  }
}
