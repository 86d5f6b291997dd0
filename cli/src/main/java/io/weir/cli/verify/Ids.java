// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.cli.records.CallLine;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * The ids that callers chose, and the ids of settled calls. An id counts once for each verdict, and
 * names one call (endpoint, meter and cost). Only the first settlement of a call counts. Ids are
 * kept for the lateness, by the broker's time. Each id takes 128 bits of a SHA-256 hash on disk.
 * Not thread-safe.
 */
final class Ids {
  private static final int ID_BYTES = 16;
  private static final char SETTLED = 's';
  private static final char ALLOWED = 'a';
  private static final char DENIED = 'd';

  private final Scratch scratch;
  private final long keptMillis;
  private final MessageDigest sha256;

  Ids(Scratch scratch, long latenessMillis) {
    this.scratch = scratch;
    this.keptMillis = latenessMillis + RecountedPartition.MAX_AHEAD_MILLIS;
    try {
      this.sha256 = MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException("every Java platform has SHA-256", impossible);
    }
  }

  boolean isKnown(CallLine line, long atEpochMillis) {
    byte[] known = scratch.get(key(line));
    return known != null && atEpochMillis - ByteBuffer.wrap(known).getLong() <= keptMillis;
  }

  void remember(CallLine line, long atEpochMillis) {
    scratch.put(key(line), ByteBuffer.allocate(Long.BYTES).putLong(atEpochMillis).array());
  }

  private byte[] key(CallLine line) {
    byte[] hash = hash(line.isSettlement() ? SETTLED : verdict(line), line);
    return Scratch.key(Scratch.ID, ID_BYTES).put(hash, 0, ID_BYTES).array();
  }

  /**
   * Returns 64 bits that identify a call: a hash of client, id, endpoint, meter, cost and verdict.
   * A settlement has the same number as its call.
   */
  long callNumber(CallLine line) {
    return ByteBuffer.wrap(hash(verdict(line), line)).getLong();
  }

  private static char verdict(CallLine line) {
    return line.allowed ? ALLOWED : DENIED;
  }

  private byte[] hash(char kind, CallLine line) {
    // no name contains a line feed
    String text =
        String.join(
            "\n",
            kind + line.client.toString(),
            line.id.toString(),
            line.endpoint.toString(),
            line.meter.toString(),
            Long.toString(line.cost));
    return sha256.digest(text.getBytes(StandardCharsets.UTF_8));
  }
}
