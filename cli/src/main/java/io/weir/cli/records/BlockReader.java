// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.records;

import io.weir.cli.records.BatchColumns.Limit;
import io.weir.cli.records.BatchColumns.Periods;
import io.weir.cli.records.BatchColumns.Settlement;
import io.weir.cli.records.CallLine.Text;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Reads values of {@code weir.calls.v1} into columns, and checks the rules that docs/topics has for
 * a value as a whole. Not thread-safe.
 */
final class BlockReader {
  private static final int BLOCKS = 1;

  private static final int[] OF_CALLS = {
    BatchColumns.ENDPOINT,
    BatchColumns.METER,
    BatchColumns.POLICY,
    BatchColumns.IP_PREFIX,
    BatchColumns.BILLING,
    BatchColumns.COST,
    BatchColumns.ALLOWED,
    BatchColumns.DECIDED_BY,
    BatchColumns.POLICIES_VERSION,
    BatchColumns.DECIDED_AT,
    BatchColumns.ID_FROM_CALLER,
    BatchColumns.CHARGES
  };

  private static final int MAX_LINES = 10_000;
  private static final int MAX_CHARGES = 64;
  private static final int MAX_ENTRY_BYTES = 4_096;

  /** Maximum number of characters of all texts of all lines, 2^28. */
  private static final long MAX_LINE_CHARS = 1L << 28;

  private static final int USUAL_CHARS = 256;

  private final BatchColumns to;
  private final Hash hashes;
  private final Text none;
  private final CharsetDecoder utf8 = StandardCharsets.UTF_8.newDecoder();
  private CharBuffer chars = CharBuffer.allocate(USUAL_CHARS);
  private byte[] value = {};
  private ByteBuffer buffer = ByteBuffer.wrap(value);
  private WireReader in = new WireReader(value);

  /** The last value of each of the four stamp columns, for each bucket of a block. */
  private long[] lastStamps = {};

  /** The sizes before the block that is being read. */
  private int firstCall;

  private int firstOfCharges;
  private int firstText;
  private int firstLimit;
  private int firstBilling;
  private int firstId;
  private int firstSettlement;

  /** The characters of the texts of all lines. */
  private long lineChars;

  /**
   * Creates a reader.
   *
   * @param to receives the calls
   * @param none the text of absent members
   */
  BlockReader(BatchColumns to, Hash hashes, Text none) {
    this.to = to;
    this.hashes = hashes;
    this.none = none;
  }

  /**
   * Replaces the calls in the columns by the calls of a value.
   *
   * @throws UnreadableException if the value breaks a rule as a whole; there are then no calls
   */
  void read(byte[] newValue) throws UnreadableException {
    value = newValue;
    buffer = ByteBuffer.wrap(value);
    in = new WireReader(value);
    to.clear();
    lineChars = 0;
    boolean isRead = false;
    try {
      while (in.nextField()) {
        if (in.field() == BLOCKS && in.wireType() == WireReader.LENGTH) {
          int outer = in.enter();
          readBlock();
          in.leave(outer);
        } else {
          in.skipField();
        }
      }
      isRead = true;
    } finally {
      if (!isRead) {
        to.clear();
      }
    }
  }

  private NumberColumn column(int field) {
    return to.columns[field];
  }

  private void readBlock() throws UnreadableException {
    firstCall = to.calls();
    firstOfCharges = column(BatchColumns.BUCKET).size();
    firstText = to.texts.count();
    firstLimit = to.limits.size();
    firstBilling = to.billings.size();
    firstId = to.ids.count();
    firstSettlement = to.settlements.size();
    column(BatchColumns.UUID).clear();
    while (in.nextField()) {
      int field = in.field();
      if (field >= BatchColumns.CLIENT
          && field <= BatchColumns.FULL_AT
          && field != BatchColumns.ID) {
        readNumbers(field);
      } else if (in.wireType() == WireReader.LENGTH) {
        readOther(field);
      } else {
        in.skipField();
      }
    }
    require(to.calls() > firstCall, "a block has no calls");
    require(to.calls() <= MAX_LINES, "the value has more than " + MAX_LINES + " lines");
    complete();
    refer(BatchColumns.CLIENT, firstCall, firstText, to.texts.count());
    refer(BatchColumns.ENDPOINT, firstCall, firstText, to.texts.count());
    refer(BatchColumns.METER, firstCall, firstText, to.texts.count());
    refer(BatchColumns.POLICY, firstCall, firstText, to.texts.count());
    refer(BatchColumns.IP_PREFIX, firstCall, firstText, to.texts.count());
    refer(BatchColumns.BILLING, firstCall, firstBilling, to.billings.size());
    refer(BatchColumns.LIMIT, firstOfCharges, firstLimit, to.limits.size());
    refer(BatchColumns.BUCKET, firstOfCharges, firstText, to.texts.count());
    require(lineChars <= MAX_LINE_CHARS, "the lines have too many characters");
    sum(BatchColumns.POLICIES_VERSION);
    sum(BatchColumns.DECIDED_AT);
    sumStamps();
    placeIds();
    placeSettlements();
  }

  private void readNumbers(int field) throws UnreadableException {
    if (in.wireType() == (field == BatchColumns.UUID ? WireReader.FIXED64 : WireReader.VARINT)) {
      column(field).add(number(field));
    } else if (in.wireType() == WireReader.LENGTH) {
      int outer = in.enter();
      while (in.hasNext()) {
        column(field).add(number(field));
      }
      in.leave(outer);
    } else {
      in.skipField();
    }
  }

  private long number(int field) throws UnreadableException {
    if (field == BatchColumns.UUID) {
      return in.fixed64();
    }
    long number = in.varint();
    boolean isSigned =
        field == BatchColumns.POLICIES_VERSION
            || field == BatchColumns.DECIDED_AT
            || field >= BatchColumns.EPOCH;
    return isSigned ? WireReader.signed(number) : number;
  }

  private void readOther(int field) throws UnreadableException {
    switch (field) {
      case BatchColumns.TEXTS -> {
        Text text = readText(to.texts.next());
        require(text.bytes <= MAX_ENTRY_BYTES, "a text of a dictionary is too long");
      }
      case BatchColumns.ID -> readText(to.ids.next());
      case BatchColumns.LIMITS -> to.limits.add(readLimit());
      case BatchColumns.BILLINGS -> to.billings.add(readPeriods());
      case BatchColumns.SETTLEMENTS -> to.settlements.add(readSettlement());
      default -> in.skipField();
    }
  }

  private Text readText(Text text) throws UnreadableException {
    int length = in.skipLength();
    int start = in.position() - length;
    if (length > chars.capacity()) {
      chars = CharBuffer.allocate(length);
    }
    chars.clear();
    buffer.limit(start + length).position(start);
    utf8.reset();
    require(!utf8.decode(buffer, chars, true).isError(), "a text is not UTF-8");
    text.set(chars.array(), chars.position());
    text.bytes = length;
    text.digest = LineDigest.ofBytes(value, start, length);
    return text;
  }

  private Limit readLimit() throws UnreadableException {
    Limit limit = new Limit();
    int outer = in.enter();
    while (in.nextField()) {
      if (in.field() <= Limit.SUB_WINDOWS && in.wireType() == WireReader.VARINT) {
        limit.numbers[in.field()] = in.varint();
      } else {
        in.skipField();
      }
    }
    in.leave(outer);
    for (int member = Limit.ALGORITHM; member <= Limit.SUB_WINDOWS; member++) {
      limit.digest = LineDigest.add(limit.digest, limit.numbers[member]);
    }
    return limit;
  }

  private Periods readPeriods() throws UnreadableException {
    Periods periods = new Periods(none);
    int outer = in.enter();
    int start = in.position();
    while (in.nextField()) {
      int field = in.field();
      boolean isText = in.wireType() == WireReader.LENGTH;
      boolean isNumber = in.wireType() == WireReader.VARINT;
      if (isText && field == Periods.NAME) {
        periods.name = readText(new Text(hashes));
      } else if (isText && field == Periods.ZONE) {
        periods.zone = readText(new Text(hashes));
      } else if (isText && field == Periods.BEFORE) {
        periods.before = readText(new Text(hashes));
      } else if (isNumber && field <= Periods.BEFORE_START) {
        periods.numbers[field] = WireReader.signed(in.varint());
      } else {
        in.skipField();
      }
    }
    in.leave(outer);
    require(
        in.position() - start <= MAX_ENTRY_BYTES, "a billing period of a dictionary is too long");
    long digest = LineDigest.add(LineDigest.NOTHING, periods.name.digest);
    digest = LineDigest.add(digest, periods.start());
    digest = LineDigest.add(digest, periods.end());
    digest = LineDigest.add(digest, periods.zone.digest);
    if (periods.before.length() > 0) {
      digest = LineDigest.add(digest, periods.before.digest);
      digest = LineDigest.add(digest, periods.beforeStart());
    }
    periods.digest = digest;
    return periods;
  }

  private Settlement readSettlement() throws UnreadableException {
    Settlement settlement = new Settlement(none);
    int outer = in.enter();
    while (in.nextField()) {
      if (in.field() == Settlement.POSITION && in.wireType() == WireReader.LENGTH) {
        settlement.position = readText(new Text(hashes));
      } else if (in.field() <= Settlement.SETTLED_AT && in.wireType() == WireReader.VARINT) {
        settlement.numbers[in.field()] = in.varint();
      } else {
        in.skipField();
      }
    }
    in.leave(outer);
    return settlement;
  }

  /** Fills absent columns with zeros, and requires that the other columns are complete. */
  private void complete() throws UnreadableException {
    for (int field : OF_CALLS) {
      complete(field, firstCall, to.calls());
    }
    int end = firstOfCharges;
    for (int call = firstCall; call < to.calls(); call++) {
      to.firstCharge.add(end);
      long count = to.get(BatchColumns.CHARGES, call);
      require(
          count >= 0 && count <= MAX_CHARGES, "a call has more than " + MAX_CHARGES + " charges");
      require(
          count <= column(BatchColumns.BUCKET).size() - end,
          "a block has fewer charges than its calls state");
      end += (int) count;
    }
    for (int field = BatchColumns.BUCKET; field <= BatchColumns.FULL_AT; field++) {
      complete(field, firstOfCharges, end);
    }
  }

  private void complete(int field, int first, int end) throws UnreadableException {
    NumberColumn column = column(field);
    if (column.size() == first) {
      column.resize(end);
    }
    require(column.size() == end, "the columns of a block have different lengths");
  }

  /** Changes references to the block's dictionary to references to all dictionaries. */
  private void refer(int field, int first, int firstEntry, int end) throws UnreadableException {
    NumberColumn column = column(field);
    for (int i = first; i < column.size(); i++) {
      long number = column.get(i);
      require(
          number >= 0 && number <= end - firstEntry,
          "a reference is outside the dictionary of its block");
      column.set(i, number == 0 ? 0 : number + firstEntry);
      if (field != BatchColumns.BILLING && field != BatchColumns.LIMIT) {
        lineChars += to.text(field, i).length();
      }
    }
  }

  private void sum(int field) {
    long last = 0;
    for (int call = firstCall; call < to.calls(); call++) {
      last += to.get(field, call);
      column(field).set(call, last);
    }
  }

  private void sumStamps() {
    int kinds = BatchColumns.FULL_AT - BatchColumns.EPOCH + 1;
    int needed = (to.texts.count() - firstText + 1) * kinds;
    if (lastStamps.length < needed) {
      lastStamps = new long[2 * needed];
    }
    Arrays.fill(lastStamps, 0, needed, 0);
    for (int charge = firstOfCharges; charge < column(BatchColumns.BUCKET).size(); charge++) {
      int bucket = (int) Math.max(0, to.get(BatchColumns.BUCKET, charge) - firstText);
      for (int kind = 0; kind < kinds; kind++) {
        lastStamps[bucket * kinds + kind] += to.get(BatchColumns.EPOCH + kind, charge);
        column(BatchColumns.EPOCH + kind).set(charge, lastStamps[bucket * kinds + kind]);
      }
    }
  }

  private void placeIds() throws UnreadableException {
    int count = to.calls() - firstCall;
    boolean areUuids = to.ids.count() == firstId;
    require(
        areUuids || to.ids.count() - firstId == count,
        "a block has not one id for each of its calls");
    NumberColumn uuids = column(BatchColumns.UUID);
    int next = 0;
    for (int i = 0; i < count; i++) {
      Text id = areUuids ? none : to.ids.get(firstId + i + 1);
      if (id.length() == 0) {
        require(next + 2 <= uuids.size(), "a block has fewer UUIDs than calls without id");
        addUuid(uuids.get(next), uuids.get(next + 1));
        next += 2;
      } else if (!addUuid(id)) {
        to.idNumber.add(firstId + i + 1L);
        to.uuidHigh.add(0);
        to.uuidLow.add(0);
      }
    }
    require(next == uuids.size(), "a block has more UUIDs than calls without id");
  }

  private void addUuid(long high, long low) {
    to.idNumber.add(0);
    to.uuidHigh.add(high);
    to.uuidLow.add(low);
  }

  /** Adds the id if it is the canonical text of a UUID (RFC 9562, lower case). */
  private boolean addUuid(Text id) {
    if (id.length() != BatchColumns.UUID_CHARS) {
      return false;
    }
    long high = 0;
    long low = 0;
    for (int i = 0; i < BatchColumns.UUID_CHARS; i++) {
      int digit = BatchColumns.DIGITS.indexOf(id.charAt(i));
      if (BatchColumns.isDash(i) ? id.charAt(i) != '-' : digit < 0) {
        return false;
      }
      if (!BatchColumns.isDash(i)) {
        high =
            high << BatchColumns.BITS_PER_DIGIT | low >>> (Long.SIZE - BatchColumns.BITS_PER_DIGIT);
        low = low << BatchColumns.BITS_PER_DIGIT | digit;
      }
    }
    addUuid(high, low);
    return true;
  }

  private void placeSettlements() throws UnreadableException {
    to.settlementNumber.resize(to.calls());
    int last = -1;
    for (int i = firstSettlement; i < to.settlements.size(); i++) {
      int call = (int) to.settlements.get(i).numbers[Settlement.CALL];
      require(
          call > last && call < to.calls() - firstCall,
          "the settlements of a block are not in order of their calls");
      to.settlementNumber.set(firstCall + call, i + 1L);
      last = call;
    }
  }

  private static void require(boolean holds, String otherwise) throws UnreadableException {
    if (!holds) {
      throw new UnreadableException(otherwise);
    }
  }
}
