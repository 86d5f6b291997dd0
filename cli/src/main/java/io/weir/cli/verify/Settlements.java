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
import java.nio.charset.StandardCharsets;
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
  private static final UsageRow.Reason[] REASONS = UsageRow.Reason.values();

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
    @SuppressWarnings("EnumOrdinal") // no other process reads the file
    private byte[] toBytes() {
      byte[] idBytes = id.getBytes(StandardCharsets.UTF_8);
      byte[] slotBytes = slot.toBytes();
      return ByteBuffer.allocate(
              3 * Long.BYTES + 1 + Integer.BYTES + idBytes.length + slotBytes.length)
          .putLong(units)
          .putLong(digest)
          .put((byte) reason.ordinal())
          .putLong(decidedAtEpochMillis)
          .putInt(idBytes.length)
          .put(idBytes)
          .put(slotBytes)
          .array();
    }

    private static Settlement ofBytes(byte[] key, byte[] value) {
      ByteBuffer line = ByteBuffer.wrap(key, 1 + Long.BYTES, Long.BYTES + Integer.BYTES);
      ByteBuffer bytes = ByteBuffer.wrap(value);
      long units = bytes.getLong();
      long digest = bytes.getLong();
      UsageRow.Reason reason = REASONS[bytes.get()];
      long decidedAt = bytes.getLong();
      byte[] id = new byte[bytes.getInt()];
      bytes.get(id);
      Slot slot = Slot.ofBytes(bytes);
      return new Settlement(
          slot,
          units,
          digest,
          reason,
          decidedAt,
          new LinePlace(slot.partition(), line.getLong(), line.getInt()),
          new String(id, StandardCharsets.UTF_8));
    }
  }

  Settlements(Scratch scratch) throws IOException {
    this.scratch = scratch;
    this.file = scratch.file("counted");
    this.counted =
        new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(file), BUFFER_BYTES));
  }

  /** Records an allowed call that was counted. */
  void callCounted(long callNumber) {
    try {
      counted.writeLong(callNumber);
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  /** Records a settlement that was counted. */
  void settlementCounted(long callNumber, Settlement settlement) {
    scratch.put(key(callNumber, settlement.place()), settlement.toBytes());
  }

  /**
   * Records that a settlement has a new position.
   *
   * @return the settlement; null, without a change, if it is unknown
   */
  @Nullable Settlement settlementMoved(long callNumber, LinePlace from, LinePlace to) {
    byte[] key = key(callNumber, from);
    byte[] settlement = scratch.get(key);
    if (settlement == null) {
      return null;
    }
    scratch.delete(key);
    scratch.put(key(callNumber, to), settlement);
    return Settlement.ofBytes(key, settlement);
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
    Set<Long> wanted = new HashSet<>();
    byte[][] chunk = {start(Scratch.SETTLEMENT), null};
    byte[] end = start((byte) (Scratch.SETTLEMENT + 1));
    do {
      wanted.clear();
      byte[] from = chunk[0];
      chunk[1] = end;
      scratch.scan(
          from,
          end,
          (key, value) -> {
            long call = ByteBuffer.wrap(key, 1, Long.BYTES).getLong();
            if (wanted.size() == MAX_IN_MEMORY && !wanted.contains(call)) {
              chunk[1] = key;
              return false;
            }
            wanted.add(call);
            return true;
          });
      removeCounted(wanted);
      visitChunk(from, chunk[1], wanted, visitor);
      chunk[0] = chunk[1];
    } while (chunk[0] != end);
  }

  private void removeCounted(Set<Long> wanted) throws IOException {
    if (wanted.isEmpty()) {
      return;
    }
    try (DataInputStream numbers =
        new DataInputStream(new BufferedInputStream(Files.newInputStream(file), BUFFER_BYTES))) {
      while (!wanted.isEmpty()) {
        wanted.remove(numbers.readLong());
      }
    } catch (EOFException read) {
      return;
    }
  }

  private void visitChunk(
      byte[] from, byte[] until, Set<Long> orphans, Consumer<Settlement> visitor) {
    if (!orphans.isEmpty()) {
      scratch.scan(
          from,
          until,
          (key, value) -> {
            if (orphans.contains(ByteBuffer.wrap(key, 1, Long.BYTES).getLong())) {
              visitor.accept(Settlement.ofBytes(key, value));
            }
            return true;
          });
    }
  }

  private static byte[] start(byte kind) {
    return new byte[] {kind};
  }

  @Override
  public void close() throws IOException {
    counted.close();
  }
}
