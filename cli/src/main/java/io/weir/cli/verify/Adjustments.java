// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.topics.model.UsageRow;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * The adjustments of closed windows, by reason and by the calls record that they count. Holds both
 * the adjustments in the ledger and those that the recount expects. Stored on disk. Not
 * thread-safe.
 */
final class Adjustments {
  private static final UsageRow.Reason[] REASONS = UsageRow.Reason.values();

  private final Scratch scratch;

  Adjustments(Scratch scratch) {
    this.scratch = scratch;
  }

  /**
   * Identifies the adjustment of a key and window by the late lines of one record.
   *
   * @param offset offset of the record in the calls topic
   */
  record Id(Slot slot, long offset, UsageRow.Reason reason) {
    @SuppressWarnings("EnumOrdinal") // no other process reads the file
    private byte[] toBytes() {
      byte[] place = slot.toBytes();
      return Scratch.key(Scratch.ADJUSTMENT, place.length + Long.BYTES + 1)
          .put(place, 0, Slot.PLACE_BYTES)
          .putLong(offset)
          .put((byte) reason.ordinal())
          .put(place, Slot.PLACE_BYTES, place.length - Slot.PLACE_BYTES)
          .array();
    }

    private static Id ofBytes(byte[] key) {
      ByteBuffer bytes = ByteBuffer.wrap(key, 1, key.length - 1);
      byte[] place = new byte[Slot.PLACE_BYTES];
      bytes.get(place);
      long offset = bytes.getLong();
      UsageRow.Reason reason = REASONS[bytes.get()];
      ByteBuffer slot =
          ByteBuffer.allocate(Slot.PLACE_BYTES + bytes.remaining()).put(place).put(bytes);
      return new Id(Slot.ofBytes(slot.flip()), offset, reason);
    }

    @Override
    public String toString() {
      return slot + ": adjustment " + reason + " of record " + offset;
    }
  }

  /** The figures of the recount and of the ledger. Mutable. */
  static final class Both {
    WindowFigures billed = new WindowFigures();
    WindowFigures counted = new WindowFigures();
    boolean billedComplete = true;
    boolean countedComplete = true;

    /** Position of the row in the ledger; empty without a row. */
    String where = "";

    private byte[] toBytes() {
      byte[] place = where.getBytes(StandardCharsets.US_ASCII);
      ByteBuffer bytes = ByteBuffer.allocate(2 * WindowFigures.BYTES + 2 + place.length);
      billed.write(bytes);
      counted.write(bytes);
      return bytes
          .put((byte) (billedComplete ? 1 : 0))
          .put((byte) (countedComplete ? 1 : 0))
          .put(place)
          .array();
    }

    private static Both ofBytes(byte[] value) {
      ByteBuffer bytes = ByteBuffer.wrap(value);
      Both both = new Both();
      both.billed = WindowFigures.read(bytes);
      both.counted = WindowFigures.read(bytes);
      both.billedComplete = bytes.get() != 0;
      both.countedComplete = bytes.get() != 0;
      both.where = StandardCharsets.US_ASCII.decode(bytes).toString();
      return both;
    }
  }

  /** Changes an adjustment, which is empty before the first change. */
  void change(Id id, Consumer<Both> change) {
    byte[] key = id.toBytes();
    byte[] known = scratch.get(key);
    Both both = known == null ? new Both() : Both.ofBytes(known);
    change.accept(both);
    scratch.put(key, both.toBytes());
  }

  /** Visits the adjustments of windows that start in a half-open interval. */
  void forEach(long fromEpochMillis, long untilEpochMillis, BiConsumer<Id, Both> visitor) {
    scratch.scan(
        Scratch.key(Scratch.ADJUSTMENT, Long.BYTES).putLong(Math.max(0, fromEpochMillis)).array(),
        Scratch.key(Scratch.ADJUSTMENT, Long.BYTES).putLong(Math.max(0, untilEpochMillis)).array(),
        (key, value) -> {
          visitor.accept(Id.ofBytes(key), Both.ofBytes(value));
          return true;
        });
  }
}
