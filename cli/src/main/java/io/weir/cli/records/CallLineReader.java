// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.records;

import io.weir.cli.records.BatchColumns.Limit;
import io.weir.cli.records.BatchColumns.Periods;
import io.weir.cli.records.BatchColumns.Settlement;
import io.weir.cli.records.CallLine.Text;
import io.weir.topics.model.UsagePosition;
import java.time.LocalDate;
import java.time.format.DateTimeParseException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads the lines of a value of {@code weir.calls.v1} by the table in docs/topics, without creating
 * objects for each line. A line is a call or a settlement; its number is its position in the value,
 * from 1. This reader shares no code with the writers or the counters of lines. Not thread-safe.
 */
public final class CallLineReader {
  private static final int MAX_NAME_BYTES = 256;
  private static final long MAX_EPOCH_MILLIS = CallLine.MAX_NUMBER / 1_000;

  /** A window is at most a day long, so it may start in the previous billing period. */
  private static final long DAY_MILLIS = 86_400_000;

  /** The algorithms by their number in the schema minus 1. */
  private static final List<String> ALGORITHMS =
      List.of(Rate.TOKEN_BUCKET, Rate.QUOTA, Rate.FIXED_WINDOW, Rate.SLIDING_WINDOW);

  private final Rates rates;
  private final BatchColumns columns;
  private final BlockReader reader;
  private final CallLine line;
  private final Text uuid;

  /** The billing periods of the last line that had some, which the next line often repeats. */
  private @Nullable Periods lastPeriods;

  private @Nullable Billed lastBilled;

  /**
   * Creates a reader. Its hashes and numbers of limits cannot be compared with the values of
   * another reader.
   */
  public CallLineReader() {
    this(new Hash(0), new Rates());
  }

  /**
   * Creates a reader.
   *
   * @param hashes creates the hashes of texts
   * @param rates receives the limits, and returns their numbers
   */
  public CallLineReader(Hash hashes, Rates rates) {
    this.rates = rates;
    Text none = new Text(hashes);
    this.columns = new BatchColumns(hashes, none);
    this.reader = new BlockReader(columns, hashes, none);
    this.line = new CallLine(none);
    this.uuid = new Text(hashes);
  }

  /**
   * Reads a value, which replaces the previous value.
   *
   * @return the number of lines
   * @throws UnreadableException if the value breaks a rule as a whole; the message names the rule
   */
  public int read(byte[] value) throws UnreadableException {
    reader.read(value);
    return columns.calls();
  }

  /** Returns the number of lines; 0 if the last value was unreadable. */
  public int count() {
    return columns.calls();
  }

  /**
   * Returns a line's summand of {@code events_digest}. Readable and unreadable lines have digests.
   */
  public long digest(int number) {
    int call = number - 1;
    long digest = LineDigest.NOTHING;
    if (columns.isUuid(call)) {
      digest = LineDigest.add(digest, columns.uuidHigh(call));
      digest = LineDigest.add(digest, columns.uuidLow(call));
    } else {
      digest = LineDigest.add(digest, columns.id(call, uuid).digest);
    }
    for (int field = BatchColumns.CLIENT; field <= BatchColumns.IP_PREFIX; field++) {
      digest = LineDigest.add(digest, digestOfText(field, call));
    }
    boolean hasPeriods = columns.isTrue(BatchColumns.BILLING, call);
    digest = LineDigest.add(digest, hasPeriods ? columns.billing(call).digest : 0);
    digest = LineDigest.add(digest, columns.get(BatchColumns.COST, call));
    digest = LineDigest.add(digest, columns.isTrue(BatchColumns.ALLOWED, call) ? 1 : 0);
    digest = LineDigest.add(digest, columns.get(BatchColumns.DECIDED_BY, call));
    digest = LineDigest.add(digest, columns.get(BatchColumns.POLICIES_VERSION, call));
    digest = LineDigest.add(digest, columns.get(BatchColumns.DECIDED_AT, call));
    digest = LineDigest.add(digest, columns.isTrue(BatchColumns.ID_FROM_CALLER, call) ? 1 : 0);
    int first = columns.firstCharge(call);
    digest = LineDigest.add(digest, charges(call));
    for (int charge = first; charge < first + charges(call); charge++) {
      digest = addCharge(digest, charge);
    }
    digest = LineDigest.add(digest, columns.isSettlement(call) ? 1 : 0);
    if (columns.isSettlement(call)) {
      Settlement settlement = columns.settlement(call);
      digest = LineDigest.add(digest, settlement.actualCost());
      digest = LineDigest.add(digest, settlement.settledAtEpochMillis());
      Text position = settlement.position;
      digest = LineDigest.add(digest, position.length() == 0 ? 0 : position.digest);
    }
    return LineDigest.mixed(digest);
  }

  private long addCharge(long digest, int charge) {
    long added = LineDigest.add(digest, digestOfText(BatchColumns.BUCKET, charge));
    added = LineDigest.add(added, columns.get(BatchColumns.CHARGE_COST, charge));
    boolean hasLimit = columns.isTrue(BatchColumns.LIMIT, charge);
    added = LineDigest.add(added, hasLimit ? columns.limit(charge).digest : 0);
    boolean hasStamp = !columns.isTrue(BatchColumns.WITHOUT_STAMP, charge);
    added = LineDigest.add(added, hasStamp ? 1 : 0);
    if (hasStamp) {
      for (int field = BatchColumns.EPOCH; field <= BatchColumns.FULL_AT; field++) {
        added = LineDigest.add(added, columns.get(field, charge));
      }
    }
    return added;
  }

  private long digestOfText(int field, int index) {
    return columns.isTrue(field, index) ? columns.text(field, index).digest : 0;
  }

  private int charges(int call) {
    return (int) columns.get(BatchColumns.CHARGES, call);
  }

  /**
   * Reads one line.
   *
   * @param number number of the line, from 1
   * @return the line, valid until the next call of this method or of {@link #read}
   * @throws UnreadableException if the line breaks a rule; the message names the rule
   */
  public CallLine line(int number) throws UnreadableException {
    int call = number - 1;
    line.id = columns.id(call, uuid);
    line.client = columns.text(BatchColumns.CLIENT, call);
    line.endpoint = columns.text(BatchColumns.ENDPOINT, call);
    line.meter = columns.text(BatchColumns.METER, call);
    line.policy = columns.text(BatchColumns.POLICY, call);
    line.isIdFromCaller = columns.isTrue(BatchColumns.ID_FROM_CALLER, call);
    line.cost = columns.get(BatchColumns.COST, call);
    line.allowed = columns.isTrue(BatchColumns.ALLOWED, call);
    CallLine.By decidedBy = CallLine.By.ofNumber(columns.get(BatchColumns.DECIDED_BY, call));
    if (decidedBy == null) {
      throw new UnreadableException("decided_by is missing or unknown");
    }
    line.decidedBy = decidedBy;
    line.policiesVersion = columns.get(BatchColumns.POLICIES_VERSION, call);
    line.decidedAtEpochMillis = columns.get(BatchColumns.DECIDED_AT, call);
    line.hasAddress = columns.isTrue(BatchColumns.IP_PREFIX, call);
    requireRange("cost", line.cost, 1, CallLine.MAX_NUMBER);
    requireRange("policies_version", line.policiesVersion, 0, CallLine.MAX_NUMBER);
    requireRange("decided_at_ms", line.decidedAtEpochMillis, 0, MAX_EPOCH_MILLIS);
    requireName("id", line.id);
    requireName("client", line.client);
    requireName("endpoint", line.endpoint);
    requireName("meter", line.meter);
    setSettlement(call);
    line.billed = columns.isTrue(BatchColumns.BILLING, call) ? billed(columns.billing(call)) : null;
    line.removeCharges();
    int first = columns.firstCharge(call);
    for (int charge = first; charge < first + charges(call); charge++) {
      setCharge(charge, line.addCharge());
    }
    return line;
  }

  private void setSettlement(int call) throws UnreadableException {
    line.actualCost = null;
    line.settledCall = null;
    if (!columns.isSettlement(call)) {
      return;
    }
    Settlement settlement = columns.settlement(call);
    requireRange("actual_cost", settlement.actualCost(), 0, CallLine.MAX_NUMBER);
    requireRange("settled_at_ms", settlement.settledAtEpochMillis(), 0, MAX_EPOCH_MILLIS);
    require(line.allowed, "a denied call must not have a settlement");
    line.actualCost = settlement.actualCost();
    if (settlement.position.length() > 0) {
      line.settledCall = UsagePosition.parse(settlement.position.toString());
      require(line.settledCall != null, "call_position is not the position of a line");
    }
  }

  private Billed billed(Periods periods) throws UnreadableException {
    long start = periods.start();
    long decidedAt = line.decidedAtEpochMillis;
    boolean hasBefore = periods.before.length() > 0;
    Billed billed = lastBilled;
    if (billed == null || lastPeriods != periods) {
      billed = checked(periods, hasBefore);
      lastPeriods = periods;
      lastBilled = billed;
    }
    require(
        start <= decidedAt && decidedAt < periods.end(),
        "the billing period does not contain the call");
    require(hasBefore || decidedAt - start >= DAY_MILLIS, "billing_period_before is missing");
    return billed;
  }

  private static Billed checked(Periods periods, boolean hasBefore) throws UnreadableException {
    requireName("billing_zone", periods.zone);
    requireTime("billing_period_start_ms", periods.start());
    requireTime("billing_period_end_ms", periods.end());
    if (hasBefore) {
      requireTime("billing_period_before_start_ms", periods.beforeStart());
      require(periods.beforeStart() < periods.start(), "the previous billing period is empty");
    }
    return new Billed(
        date("billing_period", periods.name),
        periods.zone.toString(),
        periods.start(),
        periods.end(),
        hasBefore ? date("billing_period_before", periods.before) : null,
        hasBefore ? periods.beforeStart() : 0);
  }

  private static String date(String member, Text text) throws UnreadableException {
    try {
      return LocalDate.parse(text.toString()).toString();
    } catch (DateTimeParseException notDate) {
      throw new UnreadableException(member + " is not a date", notDate);
    }
  }

  private void setCharge(int from, CallLine.BucketCharge charge) throws UnreadableException {
    require(columns.isTrue(BatchColumns.BUCKET, from), "charges.key is missing");
    charge.key = columns.text(BatchColumns.BUCKET, from);
    charge.cost = columns.get(BatchColumns.CHARGE_COST, from);
    requireRange("charges.cost", charge.cost, 0, CallLine.MAX_NUMBER);
    charge.isStamped = !columns.isTrue(BatchColumns.WITHOUT_STAMP, from);
    if (charge.isStamped) {
      charge.epoch = columns.get(BatchColumns.EPOCH, from);
      charge.charged = columns.get(BatchColumns.CHARGED, from);
      charge.version = columns.get(BatchColumns.VERSION, from);
      charge.fullAtMicros = columns.get(BatchColumns.FULL_AT, from);
      requireRange("charges.epoch", charge.epoch, 1, CallLine.MAX_NUMBER);
      requireRange("charges.charged", charge.charged, charge.cost, CallLine.MAX_NUMBER);
      requireRange("charges.version", charge.version, 0, CallLine.MAX_NUMBER);
      requireRange("charges.full_at_us", charge.fullAtMicros, 0, CallLine.MAX_NUMBER);
    }
    charge.hasLimit = columns.isTrue(BatchColumns.LIMIT, from);
    if (charge.hasLimit) {
      Limit limit = columns.limit(from);
      if (limit.rate < 0) {
        limit.rate = checkedRate(limit.numbers);
      }
      charge.limit = limit.rate;
      charge.isTokenBucket = limit.numbers[Limit.ALGORITHM] == 1;
      charge.endsAtMicros = charge.isTokenBucket ? 0 : limit.numbers[Limit.ENDS_AT];
    }
  }

  /** Returns the number of a limit after checking it; see {@link Rate#of}. */
  private int checkedRate(long[] numbers) throws UnreadableException {
    long algorithm = numbers[Limit.ALGORITHM];
    require(
        algorithm >= 1 && algorithm <= ALGORITHMS.size(), "charges: the algorithm is not known");
    String name = ALGORITHMS.get((int) algorithm - 1);
    boolean isTokenBucket = name.equals(Rate.TOKEN_BUCKET);
    if (!isTokenBucket) {
      requireRange("charges.ends_at_us", numbers[Limit.ENDS_AT], 1, CallLine.MAX_NUMBER);
    }
    try {
      return rates.number(
          Rate.of(
              name,
              numbers[Limit.CAPACITY],
              numbers[isTokenBucket ? Limit.REFILL_TOKENS : Limit.SUB_WINDOWS],
              numbers[isTokenBucket ? Limit.REFILL_PERIOD : Limit.WINDOW]));
    } catch (IllegalArgumentException wrong) {
      throw new UnreadableException("charges: " + wrong.getMessage(), wrong);
    }
  }

  /** Requires a name: 1 to 256 bytes of UTF-8, without control characters. */
  private static void requireName(String member, Text text) throws UnreadableException {
    if (text.length() == 0) {
      throw new UnreadableException(member + " is missing or empty");
    }
    if (text.bytes > MAX_NAME_BYTES) {
      throw new UnreadableException(member + " has more than 256 bytes");
    }
    if (text.hasControl()) {
      throw new UnreadableException(member + " has a control character");
    }
  }

  private static void requireTime(String member, long millis) throws UnreadableException {
    requireRange(member, millis, -CallLine.MAX_NUMBER, CallLine.MAX_NUMBER);
  }

  private static void requireRange(String member, long value, long least, long most)
      throws UnreadableException {
    if (value < least || value > most) {
      throw new UnreadableException(
          member + " must be from " + least + " to " + most + ", but is " + value);
    }
  }

  private static void require(boolean holds, String otherwise) throws UnreadableException {
    if (!holds) {
      throw new UnreadableException(otherwise);
    }
  }
}
