// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.calls;

import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.WireFormat;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;

/** Encodes the calls in columns as one block. Not thread-safe. */
final class BlockEncoder {
  private static final int BLOCKS_FIELD = 1;

  private final CallColumns columns;
  private long[] previous = new long[0];

  BlockEncoder(CallColumns columns) {
    this.columns = columns;
  }

  /**
   * Returns a batch of one block. Afterwards, the columns that the schema defines as differences
   * contain differences instead of values.
   */
  byte[] encode() {
    difference(columns.policiesVersion);
    difference(columns.decidedAt);
    differenceOfStamps();
    int bytes = bytes();
    byte[] batch =
        new byte
            [CodedOutputStream.computeTagSize(BLOCKS_FIELD)
                + CodedOutputStream.computeUInt32SizeNoTag(bytes)
                + bytes];
    CodedOutputStream out = CodedOutputStream.newInstance(batch);
    try {
      writeLength(out, BLOCKS_FIELD, bytes);
      write(out);
      out.checkNoSpaceLeft();
    } catch (IOException impossible) {
      throw new UncheckedIOException(
          "the size of a block differs from the computed size", impossible);
    }
    return batch;
  }

  private static void difference(Column column) {
    long last = 0;
    for (int i = 0; i < column.size(); i++) {
      long value = column.get(i);
      column.set(i, value - last);
      last = value;
    }
  }

  private void differenceOfStamps() {
    int kinds = columns.stamps.size();
    int needed = (columns.texts.count() + 1) * kinds;
    if (previous.length < needed) {
      previous = new long[2 * needed];
    } else {
      Arrays.fill(previous, 0, needed, 0);
    }
    for (int charge = 0; charge < columns.bucket.size(); charge++) {
      if (columns.withoutStamp.get(charge) != 0) {
        for (Column column : columns.stamps) {
          column.set(charge, 0);
        }
        continue;
      }
      int bucket = columns.bucket.getInt(charge);
      for (int kind = 0; kind < kinds; kind++) {
        Column column = columns.stamps.get(kind);
        long value = column.get(charge);
        column.set(charge, value - previous[bucket * kinds + kind]);
        previous[bucket * kinds + kind] = value;
      }
    }
  }

  private boolean hasIds() {
    for (int i = 0; i < columns.ids.size(); i++) {
      if (columns.ids.get(i) != null) {
        return true;
      }
    }
    return false;
  }

  private int bytes() {
    int bytes = 0;
    for (int number = 1; number <= columns.texts.count(); number++) {
      bytes += CodedOutputStream.computeStringSize(CallColumns.TEXTS_FIELD, text(number));
    }
    for (LimitNumbers limit : columns.limits) {
      bytes += withLength(CallColumns.LIMITS_FIELD, limit.bytes());
    }
    for (BillingNumbers billing : columns.billings) {
      bytes += withLength(CallColumns.BILLINGS_FIELD, billing.bytes());
    }
    for (Column column : columns.byField) {
      bytes += column == null ? 0 : column.bytes();
    }
    if (hasIds()) {
      for (int call = 0; call < columns.calls(); call++) {
        bytes += CodedOutputStream.computeStringSize(CallColumns.ID_FIELD, id(call));
      }
    }
    for (SettlementNumbers settlement : columns.settlements) {
      bytes += withLength(CallColumns.SETTLEMENTS_FIELD, settlement.bytes());
    }
    return bytes;
  }

  private void write(CodedOutputStream out) throws IOException {
    for (int number = 1; number <= columns.texts.count(); number++) {
      out.writeString(CallColumns.TEXTS_FIELD, text(number));
    }
    for (LimitNumbers limit : columns.limits) {
      writeLength(out, CallColumns.LIMITS_FIELD, limit.bytes());
      limit.write(out);
    }
    for (BillingNumbers billing : columns.billings) {
      writeLength(out, CallColumns.BILLINGS_FIELD, billing.bytes());
      billing.write(out);
    }
    for (int field = 0; field < columns.byField.length; field++) {
      Column column = columns.byField[field];
      if (column != null) {
        column.write(out);
      } else if (field == CallColumns.ID_FIELD && hasIds()) {
        writeIds(out);
      }
    }
    for (SettlementNumbers settlement : columns.settlements) {
      writeLength(out, CallColumns.SETTLEMENTS_FIELD, settlement.bytes());
      settlement.write(out);
    }
  }

  private void writeIds(CodedOutputStream out) throws IOException {
    for (int call = 0; call < columns.calls(); call++) {
      out.writeString(CallColumns.ID_FIELD, id(call));
    }
  }

  private String text(int number) {
    String text = columns.texts.get(number);
    return text == null ? "" : text;
  }

  /** Returns the id as text; empty if the block stores the id as a UUID. */
  private String id(int call) {
    String id = columns.ids.get(call);
    return id == null ? "" : id;
  }

  private static int withLength(int field, int bytes) {
    return CodedOutputStream.computeTagSize(field)
        + CodedOutputStream.computeUInt32SizeNoTag(bytes)
        + bytes;
  }

  private static void writeLength(CodedOutputStream out, int field, int bytes) throws IOException {
    out.writeTag(field, WireFormat.WIRETYPE_LENGTH_DELIMITED);
    out.writeUInt32NoTag(bytes);
  }
}
