// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.calls;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.WireFormat;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.wire.MalformedRecordException;
import java.io.IOException;
import java.util.Arrays;
import java.util.Collections;
import java.util.UUID;

/**
 * Decodes the blocks of a batch, and appends their calls to columns. Checks only that each block is
 * complete and consistent. {@link CallBatchReader#call} checks the values of a call. Not
 * thread-safe.
 */
final class BlockDecoder {
  private static final int BLOCKS_TAG = 1 << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED;

  /**
   * Maximum size in bytes of a text, and of billing periods, in a dictionary. Many calls can refer
   * to one entry, and each refused call is written to the quarantine with its entries. Without this
   * maximum, the refused calls of one batch could need gigabytes.
   */
  static final int MAX_ENTRY_BYTES = 4096;

  /** Maximum number of charges of a call. A node charges fewer buckets for one call. */
  static final int MAX_CHARGES = 64;

  /**
   * Maximum number of characters to which the calls of a batch refer, counted once for each
   * reference. The calls that a node records refer to fewer.
   */
  private static final long MAX_REFERENCED_CHARS = 1 << 28;

  private final CallColumns columns;
  private final Interned<LimitNumbers> knownLimits = new Interned<>();
  private final Interned<BillingNumbers> knownBillings = new Interned<>();
  private long[] previous = new long[0];
  private long referencedChars;

  BlockDecoder(CallColumns columns) {
    this.columns = columns;
  }

  /** Replaces the content of the columns with the calls of a batch. */
  void decode(byte[] value) throws MalformedRecordException {
    columns.clear();
    referencedChars = 0;
    CodedInputStream in = CodedInputStream.newInstance(value);
    try {
      for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
        if (tag == BLOCKS_TAG) {
          int outer = in.pushLimit(in.readRawVarint32());
          new Block().read(in, value);
          in.popLimit(outer);
        } else {
          in.skipField(tag);
        }
      }
    } catch (IOException notProtobuf) {
      throw new MalformedRecordException(
          "the value must be a CallBatch of weir-calls.proto", notProtobuf);
    }
  }

  /** The block that is being read. */
  private final class Block {
    private final int calls = columns.calls();
    private final int charges = columns.bucket.size();
    private final int texts = columns.texts.count();
    private final int limits = columns.limits.size();
    private final int billings = columns.billings.size();
    private final int settlements = columns.settlements.size();
    private int newCalls;
    private int newCharges;

    void read(CodedInputStream in, byte[] value) throws IOException, MalformedRecordException {
      columns.uuid.clear();
      for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
        if (!readField(in, value, tag)) {
          in.skipField(tag);
        }
      }
      newCalls = columns.client.size() - calls;
      require(newCalls > 0, "a block must have a call");
      require(
          columns.calls() <= BatchHeader.MAX_COUNT,
          "a batch must have at most " + BatchHeader.MAX_COUNT + " calls");
      complete();
      resolveReferences();
      sumDifferences();
      placeIds();
      placeSettlements();
    }

    private boolean readField(CodedInputStream in, byte[] value, int tag)
        throws IOException, MalformedRecordException {
      int field = WireFormat.getTagFieldNumber(tag);
      int wireType = WireFormat.getTagWireType(tag);
      Column column = field < columns.byField.length ? columns.byField[field] : null;
      if (column != null) {
        return column.read(in, wireType);
      }
      if (wireType != WireFormat.WIRETYPE_LENGTH_DELIMITED) {
        return false;
      }
      switch (field) {
        case CallColumns.TEXTS_FIELD -> {
          int length = entryLength(in);
          int start = in.getTotalBytesRead();
          in.skipRawBytes(length);
          columns.texts.add(value, start, length);
        }
        case CallColumns.ID_FIELD -> columns.ids.add(in.readStringRequireUtf8());
        case CallColumns.LIMITS_FIELD -> {
          int outer = in.pushLimit(in.readRawVarint32());
          LimitNumbers limit = LimitNumbers.read(in);
          columns.limits.add(knownLimits.of(limit.digest(), limit));
          in.popLimit(outer);
        }
        case CallColumns.BILLINGS_FIELD -> {
          int outer = in.pushLimit(entryLength(in));
          BillingNumbers billing = BillingNumbers.read(in);
          columns.billings.add(knownBillings.of(billing.digest(), billing));
          in.popLimit(outer);
        }
        case CallColumns.SETTLEMENTS_FIELD -> {
          int outer = in.pushLimit(in.readRawVarint32());
          columns.settlements.add(SettlementNumbers.read(in));
          in.popLimit(outer);
        }
        default -> {
          return false;
        }
      }
      return true;
    }

    private static int entryLength(CodedInputStream in)
        throws IOException, MalformedRecordException {
      int length = in.readRawVarint32();
      require(
          length <= MAX_ENTRY_BYTES,
          "an entry of a dictionary must have at most " + MAX_ENTRY_BYTES + " bytes");
      return length;
    }

    /**
     * Fills each column without entries with zeros. Requires that each other column has an entry
     * for each call, or for each charge.
     */
    private void complete() throws MalformedRecordException {
      for (Column column : columns.ofCalls) {
        complete(column, calls, newCalls);
      }
      int first = charges;
      for (int call = calls; call < calls + newCalls; call++) {
        columns.firstCharge.add(first);
        long count = columns.charges.get(call);
        require(count >= 0 && count <= MAX_CHARGES, "a call has too many charges");
        require(
            count <= columns.bucket.size() - first,
            "a block has fewer charges than its calls state");
        first += (int) count;
      }
      newCharges = first - charges;
      for (Column column : columns.ofCharges) {
        complete(column, charges, newCharges);
      }
    }

    private static void complete(Column column, int before, int added)
        throws MalformedRecordException {
      if (column.size() == before) {
        column.fill(before + added);
      }
      require(column.size() == before + added, "the columns of a block must have the same length");
    }

    private void resolveReferences() throws MalformedRecordException {
      for (Column column : columns.textsOfCalls) {
        resolve(column, calls, texts, columns.texts.count());
        addChars(column, calls);
      }
      resolve(columns.billing, calls, billings, columns.billings.size());
      resolve(columns.bucket, charges, texts, columns.texts.count());
      addChars(columns.bucket, charges);
      require(referencedChars <= MAX_REFERENCED_CHARS, "the calls of a batch have too many bytes");
      resolve(columns.limit, charges, limits, columns.limits.size());
    }

    private void addChars(Column column, int from) {
      for (int i = from; i < column.size(); i++) {
        referencedChars += columns.texts.length(column.getInt(i));
      }
    }

    /**
     * Changes references to the dictionary of this block into references to the dictionary of all
     * blocks.
     */
    private static void resolve(Column column, int from, int before, int size)
        throws MalformedRecordException {
      for (int i = from; i < column.size(); i++) {
        long number = column.get(i);
        require(
            number >= 0 && number <= size - before,
            "a call refers to an entry that the dictionary of its block lacks");
        if (number > 0) {
          column.set(i, number + before);
        }
      }
    }

    private void sumDifferences() {
      sum(columns.policiesVersion);
      sum(columns.decidedAt);
      int kinds = columns.stamps.size();
      int needed = (columns.texts.count() - texts + 1) * kinds;
      if (previous.length < needed) {
        previous = new long[2 * needed];
      } else {
        Arrays.fill(previous, 0, needed, 0);
      }
      for (int charge = charges; charge < charges + newCharges; charge++) {
        int bucket = Math.max(0, columns.bucket.getInt(charge) - texts);
        for (int kind = 0; kind < kinds; kind++) {
          Column column = columns.stamps.get(kind);
          long value = previous[bucket * kinds + kind] + column.get(charge);
          previous[bucket * kinds + kind] = value;
          column.set(charge, value);
        }
      }
    }

    private void sum(Column column) {
      long value = 0;
      for (int call = calls; call < calls + newCalls; call++) {
        value += column.get(call);
        column.set(call, value);
      }
    }

    private void placeIds() throws MalformedRecordException {
      if (columns.ids.size() == calls) {
        columns.ids.addAll(Collections.nCopies(newCalls, ""));
      }
      require(columns.ids.size() == calls + newCalls, "a block must have an id for each call");
      int half = 0;
      for (int call = calls; call < calls + newCalls; call++) {
        String id = columns.ids.get(call);
        UUID uuid = id == null ? null : CallIds.uuid(id);
        if (uuid != null) {
          columns.ids.set(call, null);
          columns.idHalves.add(uuid.getMostSignificantBits());
          columns.idHalves.add(uuid.getLeastSignificantBits());
        } else if (id != null && id.isEmpty()) {
          require(half + 2 <= columns.uuid.size(), "a block has fewer UUIDs than calls without id");
          columns.ids.set(call, null);
          columns.idHalves.add(columns.uuid.get(half));
          columns.idHalves.add(columns.uuid.get(half + 1));
          half += 2;
        } else {
          columns.idHalves.fill(2 * (call + 1));
        }
      }
      require(half == columns.uuid.size(), "a block has more UUIDs than calls without id");
    }

    private void placeSettlements() throws MalformedRecordException {
      columns.settlement.fill(calls + newCalls);
      int last = -1;
      for (int i = settlements; i < columns.settlements.size(); i++) {
        int call = columns.settlements.get(i).call();
        require(
            call > last && call < newCalls,
            "the settlements of a block must refer to its calls in ascending order");
        columns.settlement.set(calls + call, i + 1L);
        last = call;
      }
    }
  }

  private static void require(boolean holds, String rule) throws MalformedRecordException {
    if (!holds) {
      throw new MalformedRecordException(rule);
    }
  }
}
