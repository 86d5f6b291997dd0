// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import java.util.List;
import java.util.zip.CRC32C;

/** Puts a sealed batch together from its chunks, and refuses any that is not what was sealed. */
final class BatchBytes {
  private final Seal seal;
  private final byte[] bytes;
  private int filledBytes;
  private long lines;

  BatchBytes(Seal seal) {
    this.seal = seal;
    this.bytes = new byte[seal.bytes()];
  }

  /** All lines of the chunks, in order. */
  static byte[] join(List<Chunk> chunks) {
    if (chunks.size() == 1) {
      return chunks.get(0).lines();
    }
    int totalBytes = 0;
    for (Chunk chunk : chunks) {
      totalBytes = Math.addExact(totalBytes, chunk.lines().length);
    }
    byte[] joined = new byte[totalBytes];
    int at = 0;
    for (Chunk chunk : chunks) {
      System.arraycopy(chunk.lines(), 0, joined, at, chunk.lines().length);
      at += chunk.lines().length;
    }
    return joined;
  }

  static int checksum(byte[] bytes) {
    CRC32C crc = new CRC32C();
    crc.update(bytes);
    return (int) crc.getValue();
  }

  /** Adds the lines that stand in {@code source} from {@code offset} to its end. */
  void add(long firstLine, int count, byte[] source, int offset) throws JournalException {
    int length = source.length - offset;
    if (firstLine != seal.linesBefore() + lines + 1 || filledBytes + length > bytes.length) {
      throw new JournalException(
          "the journal's lines are not those of " + seal + ": found line " + firstLine);
    }
    System.arraycopy(source, offset, bytes, filledBytes, length);
    filledBytes += length;
    lines += count;
  }

  boolean isWhole() {
    return lines >= seal.count();
  }

  byte[] whole() throws JournalException {
    if (lines != seal.count()
        || filledBytes != bytes.length
        || checksum(bytes) != seal.checksum()) {
      throw new JournalException(
          "the journal's lines are not those of " + seal + ": found " + lines + " lines");
    }
    return bytes;
  }
}
