// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.records;

import io.weir.cli.records.CallLine.Text;
import java.util.ArrayList;
import java.util.List;

/**
 * The value of a record of {@code weir.calls.v1} as columns, whose fields {@code weir-calls.proto}
 * defines. Numbers are complete numbers, not differences. References count from 1 and refer to the
 * dictionaries of all blocks. A {@link BlockReader} adds the calls. Not thread-safe.
 */
final class BatchColumns {
  // the fields of a block
  static final int TEXTS = 1;
  static final int LIMITS = 2;
  static final int BILLINGS = 3;
  static final int CLIENT = 4;
  static final int ENDPOINT = 5;
  static final int METER = 6;
  static final int POLICY = 7;
  static final int IP_PREFIX = 8;
  static final int BILLING = 9;
  static final int COST = 10;
  static final int ALLOWED = 11;
  static final int DECIDED_BY = 12;
  static final int POLICIES_VERSION = 13;
  static final int DECIDED_AT = 14;
  static final int ID = 15;
  static final int ID_FROM_CALLER = 16;
  static final int UUID = 17;
  static final int CHARGES = 18;
  static final int BUCKET = 19;
  static final int CHARGE_COST = 20;
  static final int LIMIT = 21;
  static final int WITHOUT_STAMP = 22;
  static final int EPOCH = 23;
  static final int CHARGED = 24;
  static final int VERSION = 25;
  static final int FULL_AT = 26;
  static final int SETTLEMENTS = 27;

  static final int UUID_CHARS = 36;
  private static final int UUID_DIGITS = 32;
  static final String DIGITS = "0123456789abcdef";
  static final int BITS_PER_DIGIT = 4;

  /** A limit in a dictionary: its numbers by field number, and its digest. */
  static final class Limit {
    static final int ALGORITHM = 1;
    static final int CAPACITY = 2;
    static final int REFILL_TOKENS = 3;
    static final int REFILL_PERIOD = 4;
    static final int ENDS_AT = 5;
    static final int WINDOW = 6;
    static final int SUB_WINDOWS = 7;

    final long[] numbers = new long[SUB_WINDOWS + 1];
    long digest = LineDigest.NOTHING;

    /** Number of the limit in the {@link Rates}; negative before its first use. */
    int rate = -1;
  }

  /** The billing periods in a dictionary. */
  static final class Periods {
    static final int NAME = 1;
    static final int START = 2;
    static final int END = 3;
    static final int ZONE = 4;
    static final int BEFORE = 5;
    static final int BEFORE_START = 6;

    Text name;
    Text zone;
    Text before;
    final long[] numbers = new long[BEFORE_START + 1];
    long digest = LineDigest.NOTHING;

    Periods(Text none) {
      name = none;
      zone = none;
      before = none;
    }

    long start() {
      return numbers[START];
    }

    long end() {
      return numbers[END];
    }

    long beforeStart() {
      return numbers[BEFORE_START];
    }
  }

  /** A settlement: its numbers by field number, and the position of its call. */
  static final class Settlement {
    static final int CALL = 1;
    static final int ACTUAL_COST = 2;
    static final int SETTLED_AT = 3;
    static final int POSITION = 4;

    final long[] numbers = new long[SETTLED_AT + 1];
    Text position;

    Settlement(Text none) {
      position = none;
    }

    long actualCost() {
      return numbers[ACTUAL_COST];
    }

    long settledAtEpochMillis() {
      return numbers[SETTLED_AT];
    }
  }

  /** Texts whose objects are used again for the next value. */
  static final class TextList {
    private final Hash hashes;
    private final List<Text> texts = new ArrayList<>();
    private int count;

    private TextList(Hash hashes) {
      this.hashes = hashes;
    }

    int count() {
      return count;
    }

    Text get(int number) {
      return texts.get(number - 1);
    }

    Text next() {
      if (count == texts.size()) {
        texts.add(new Text(hashes));
      }
      return texts.get(count++);
    }
  }

  private final Text none;

  final TextList texts;

  /** The ids that are not UUIDs, and empty texts. */
  final TextList ids;

  final List<Limit> limits = new ArrayList<>();
  final List<Periods> billings = new ArrayList<>();
  final List<Settlement> settlements = new ArrayList<>();

  /** The columns by field number. */
  final NumberColumn[] columns = new NumberColumn[FULL_AT + 1];

  /** The id of each call: its number in {@link #ids}, or 0 for a UUID. */
  final NumberColumn idNumber = new NumberColumn();

  final NumberColumn uuidHigh = new NumberColumn();
  final NumberColumn uuidLow = new NumberColumn();
  final NumberColumn firstCharge = new NumberColumn();

  /** The number of the settlement of each call; 0 for a call that is not a settlement. */
  final NumberColumn settlementNumber = new NumberColumn();

  private final char[] uuidChars = new char[UUID_CHARS];

  /**
   * Creates columns without calls.
   *
   * @param none the text of absent members
   */
  BatchColumns(Hash hashes, Text none) {
    this.none = none;
    this.texts = new TextList(hashes);
    this.ids = new TextList(hashes);
    for (int field = 0; field < columns.length; field++) {
      columns[field] = new NumberColumn();
    }
  }

  int calls() {
    return columns[CLIENT].size();
  }

  long get(int field, int index) {
    return columns[field].get(index);
  }

  boolean isTrue(int field, int index) {
    return get(field, index) != 0;
  }

  /** Returns the text to which a column refers; the empty text if the call has none. */
  Text text(int field, int index) {
    int number = (int) get(field, index);
    return number == 0 ? none : texts.get(number);
  }

  Limit limit(int charge) {
    return limits.get((int) get(LIMIT, charge) - 1);
  }

  Periods billing(int call) {
    return billings.get((int) get(BILLING, call) - 1);
  }

  int firstCharge(int call) {
    return (int) firstCharge.get(call);
  }

  boolean isSettlement(int call) {
    return settlementNumber.get(call) > 0;
  }

  Settlement settlement(int call) {
    return settlements.get((int) settlementNumber.get(call) - 1);
  }

  boolean isUuid(int call) {
    return idNumber.get(call) == 0;
  }

  long uuidHigh(int call) {
    return uuidHigh.get(call);
  }

  long uuidLow(int call) {
    return uuidLow.get(call);
  }

  /**
   * Returns the id of a call.
   *
   * @param uuid receives the text of a UUID
   */
  Text id(int call, Text uuid) {
    if (!isUuid(call)) {
      return ids.get((int) idNumber.get(call));
    }
    int at = 0;
    for (int digit = 0; digit < UUID_DIGITS; digit++) {
      if (isDash(at)) {
        uuidChars[at++] = '-';
      }
      long half = digit < UUID_DIGITS / 2 ? uuidHigh(call) : uuidLow(call);
      int shift = Long.SIZE - BITS_PER_DIGIT * (digit % (UUID_DIGITS / 2) + 1);
      uuidChars[at++] = DIGITS.charAt((int) (half >>> shift) & 0xf);
    }
    uuid.set(uuidChars, UUID_CHARS);
    uuid.bytes = UUID_CHARS;
    return uuid;
  }

  /** Returns whether a UUID has a dash at an index. */
  static boolean isDash(int index) {
    return index == 8 || index == 13 || index == 18 || index == 23;
  }

  /** Removes all calls. */
  void clear() {
    texts.count = 0;
    ids.count = 0;
    limits.clear();
    billings.clear();
    settlements.clear();
    for (NumberColumn column : columns) {
      column.clear();
    }
    idNumber.clear();
    uuidHigh.clear();
    uuidLow.clear();
    firstCharge.clear();
    settlementNumber.clear();
  }
}
