// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.topics.model.UsageRow;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Finds the settlements whose call was never counted. The numbers of counted calls are written to a
 * file, eight bytes each. At the end, this class looks for the call of each settlement in the file,
 * because a call may come after its settlement. Not thread-safe.
 */
final class Settlements implements AutoCloseable {
  /** Maximum number of settlements in one pass over the file; about 30 MB. */
  private static final int MAX_IN_MEMORY = 500_000;

  private static final int BUFFER_BYTES = 64 * 1024;

  private final Scratch scratch;
  private final Path file;
  private final DataOutputStream counted;

  /**
   * A settlement that was counted.
   *
   * @param units units that it added to the bill
   * @param reason reason of the adjustment that counts it, if its window was closed
   * @param decidedAtEpochMillis when its call was decided
   * @param place position of the line that was counted
   * @param id id of its call
   */
  record Settlement(
      Slot slot,
      long units,
      long digest,
      UsageRow.Reason reason,
      long decidedAtEpochMillis,
      LinePlace place,
      String id) {
    private Settlement at(LinePlace other) {
      return new Settlement(slot, units, digest, reason, decidedAtEpochMillis, other, id);
    }
  }

  Settlements(Scratch scratch) throws IOException {
    this.scratch = scratch;
    this.file = scratch.file("counted");
    this.counted =
        new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(file), BUFFER_BYTES));
  }

  void callCounted(long callNumber) {
    try {
      counted.writeLong(callNumber);
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  void settlementCounted(long callNumber, Settlement settlement) {
    scratch.putObject(key(callNumber, settlement.place()), settlement);
  }

  /**
   * Records that a settlement has a new position.
   *
   * @return the settlement at its former position; null, without a change, if it is unknown
   */
  @Nullable Settlement settlementMoved(long callNumber, LinePlace from, LinePlace to) {
    byte[] key = key(callNumber, from);
    Settlement settlement = scratch.getObject(key, Settlement.class);
    if (settlement != null) {
      scratch.delete(key);
      settlementCounted(callNumber, settlement.at(to));
    }
    return settlement;
  }

  private static byte[] key(long callNumber, LinePlace place) {
    return Scratch.key(Scratch.SETTLEMENT, 2 * Long.BYTES + Integer.BYTES)
        .putLong(callNumber)
        .putLong(place.offset())
        .putInt(place.line())
        .array();
  }

  /** Visits the settlements whose call was not counted. Nothing may be recorded afterwards. */
  void forEachWithoutCall(Consumer<Settlement> visitor) throws IOException {
    counted.close();
    byte[] end = {Scratch.SETTLEMENT + 1};
    byte[] from = {Scratch.SETTLEMENT};
    while (from != end) {
      Set<Long> wanted = new HashSet<>();
      byte[][] until = {end};
      scratch.scan(
          from,
          end,
          (key, value) -> {
            if (wanted.size() == MAX_IN_MEMORY && !wanted.contains(callNumber(key))) {
              until[0] = key;
              return false;
            }
            wanted.add(callNumber(key));
            return true;
          });
      removeCounted(wanted);
      scratch.scan(
          from,
          until[0],
          (key, value) -> {
            if (wanted.contains(callNumber(key))) {
              visitor.accept(Scratch.object(value, Settlement.class));
            }
            return true;
          });
      from = until[0];
    }
  }

  private static long callNumber(byte[] key) {
    return ByteBuffer.wrap(key, 1, Long.BYTES).getLong();
  }

  private void removeCounted(Set<Long> wanted) throws IOException {
    try (DataInputStream numbers =
        new DataInputStream(new BufferedInputStream(Files.newInputStream(file), BUFFER_BYTES))) {
      while (!wanted.isEmpty()) {
        wanted.remove(numbers.readLong());
      }
    } catch (EOFException read) {
      return;
    }
  }

  @Override
  public void close() throws IOException {
    counted.close();
  }
}
