// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.weir.topics.model.UsageRow;
import java.util.function.Consumer;

/**
 * The adjustments of closed windows, by reason and by the record of the calls topic that they
 * count. Holds both the adjustments in the ledger and those that the recount expects. Stored on
 * disk. Not thread-safe.
 */
final class Adjustments {
  private final Scratch scratch;

  Adjustments(Scratch scratch) {
    this.scratch = scratch;
  }

  /**
   * The id of the adjustment that counts the late lines of one record for a key and window.
   *
   * @param offset offset of the record in the calls topic
   */
  record Id(Slot slot, long offset, UsageRow.Reason reason) {
    @SuppressWarnings("EnumOrdinal") // no other process reads the key
    private byte[] key() {
      return Scratch.key(Scratch.ADJUSTMENT, slot, Long.BYTES + 1)
          .putLong(offset)
          .put((byte) reason.ordinal())
          .array();
    }

    @Override
    public String toString() {
      return slot + ": adjustment " + reason + " of record " + offset;
    }
  }

  /** The figures of the recount and of the ledger. Mutable. */
  static final class Both {
    final Id id;
    WindowFigures billed = new WindowFigures();
    WindowFigures counted = new WindowFigures();
    boolean billedComplete = true;
    boolean countedComplete = true;

    /** Position of the row in the ledger; empty without a row. */
    String where = "";

    Both(@JsonProperty("id") Id id) {
      this.id = id;
    }
  }

  /** Changes an adjustment. An adjustment is empty before its first change. */
  void change(Id id, Consumer<Both> change) {
    Both known = scratch.getObject(id.key(), Both.class);
    Both both = known == null ? new Both(id) : known;
    change.accept(both);
    scratch.putObject(id.key(), both);
  }

  void forEach(Range range, Consumer<Both> visitor) {
    scratch.scan(Scratch.ADJUSTMENT, range, Both.class, visitor);
  }
}
