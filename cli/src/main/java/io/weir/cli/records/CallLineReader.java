// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.records;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import io.weir.topics.model.UsagePosition;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.LocalDate;
import java.time.format.DateTimeParseException;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads the lines of {@code weir.calls.v1} by the table in docs/topics, without creating objects
 * for each line. This reader shares no code with the writers or the counters of lines. Not
 * thread-safe.
 */
public final class CallLineReader {
  private static final int MAX_NAME_BYTES = 256;
  private static final int MAX_TEXT_CHARS = 64 * 1024;
  private static final int MAX_NESTING = 16;
  private static final int MAX_RATES_KNOWN = 4_096;
  private static final long MAX_EPOCH_MILLIS = CallLine.MAX_NUMBER / 1_000;

  /** A window is at most a day long, so it may start in the previous billing period. */
  private static final long DAY_MILLIS = 86_400_000;

  private static final JsonFactory JSON =
      JsonFactory.builder()
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxNestingDepth(MAX_NESTING)
                  .maxStringLength(MAX_TEXT_CHARS)
                  .maxNameLength(MAX_TEXT_CHARS)
                  .build())
          .build();

  private final Rates rates;
  private final CallLine line;
  private final CallLine.Text zone;

  /** The members of the billing periods of the line. */
  private final Map<String, Object> billing = new HashMap<>();

  /** A cache of recent limits and their numbers, by a hash of their members. */
  private final @Nullable Rate[] knownRates = new Rate[MAX_RATES_KNOWN];

  private final int[] knownNumbers = new int[MAX_RATES_KNOWN];

  /**
   * Parses the rest of the last batch; null before the first line and after an unreadable line. One
   * parser continues from line to line, because creating a parser costs about as much as reading a
   * line.
   */
  private @Nullable JsonParser parser;

  private byte[] parserBatch = {};
  private int parserStart;

  /** Index at which the parser continues. */
  private int parserNext;

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
    this.line = new CallLine(hashes);
    this.zone = new CallLine.Text(hashes);
  }

  /** Returns the index of the line feed at or after an index; the length if there is none. */
  public static int endOfLine(byte[] batch, int start) {
    int end = start;
    while (end < batch.length && batch[end] != '\n') {
      end++;
    }
    return end;
  }

  /**
   * Reads one line.
   *
   * @param start index of the line's first byte
   * @param end end of the line, exclusive; the byte at this index may be a line feed
   * @return the line, valid until the next call
   * @throws UnreadableException if the line breaks a rule; the message names the rule
   */
  public CallLine read(byte[] batch, int start, int end) throws UnreadableException {
    if (!readNext(batch, start, end)) {
      readAlone(batch, start, end);
    }
    return line;
  }

  /**
   * Reads a line with the parser of the batch. The JSON object must end within the line.
   *
   * @return false if {@link #readAlone} must read the line, to find out whether and why the line is
   *     unreadable
   */
  private boolean readNext(byte[] batch, int start, int end) {
    if (isBlank(batch, start, end)) {
      return false; // the parser would read the next line
    }
    try {
      JsonParser json = parser;
      if (json == null || batch != parserBatch || start != parserNext) {
        endParser();
        json = JSON.createParser(batch, start, batch.length - start);
        parser = json;
        parserBatch = batch;
        parserStart = start;
      }
      object(json);
      long read = json.currentLocation().getByteOffset(); // negative in other encodings
      if (read > 0 && read <= end - parserStart && isBlank(batch, parserStart + (int) read, end)) {
        parserNext = end + 1;
        return true;
      }
    } catch (IOException | UnreadableException unreadable) {
      // the parser's position is unknown
    }
    endParser();
    return false;
  }

  private void endParser() {
    JsonParser ended = parser;
    parser = null;
    if (ended != null) {
      try {
        ended.close();
      } catch (IOException impossible) {
        throw new UncheckedIOException(
            "the parser of a batch in memory cannot be closed", impossible);
      }
    }
  }

  private void readAlone(byte[] batch, int start, int end) throws UnreadableException {
    try (JsonParser json = JSON.createParser(batch, start, end - start)) {
      object(json);
      require(json.nextToken() == null, "a line has more text after its JSON object");
    } catch (IOException notJson) {
      throw new UnreadableException("a line is not JSON", notJson);
    }
  }

  private static boolean isBlank(byte[] batch, int from, int until) {
    for (int i = from; i < until; i++) {
      if (batch[i] != ' ' && batch[i] != '\t' && batch[i] != '\r') {
        return false;
      }
    }
    return true;
  }

  private void object(JsonParser json) throws IOException, UnreadableException {
    line.clear();
    billing.clear();
    zone.clear();
    boolean hasVerdict = false;
    CallLine.By decidedBy = null;
    Long settledAt = null;
    require(json.nextToken() == JsonToken.START_OBJECT, "a line is not a JSON object");
    for (String name = json.nextFieldName(); name != null; name = json.nextFieldName()) {
      json.nextToken();
      switch (name) {
        case "id" -> text(json, line.id);
        case "client" -> text(json, line.client);
        case "endpoint" -> text(json, line.endpoint);
        case "meter" -> text(json, line.meter);
        case "policy" -> text(json, line.policy);
        case "cost" -> line.cost = integer(json);
        case "allowed" -> {
          line.allowed = bool(json);
          hasVerdict = true;
        }
        case "decided_by" -> decidedBy = CallLine.By.of(text(json));
        case "policies_version" -> line.policiesVersion = integer(json);
        case "decided_at_ms" -> line.decidedAtEpochMillis = integer(json);
        case "ip_prefix" -> {
          String unused = text(json);
          line.hasAddress = true;
        }
        case "charges" -> charges(json);
        case "id_from_caller" -> line.isIdFromCaller = bool(json);
        case "actual_cost" -> line.actualCost = integer(json);
        case "settled_at_ms" -> settledAt = integer(json);
        case "call_position" -> {
          line.settledCall = UsagePosition.parse(text(json));
          require(line.settledCall != null, "call_position is not the position of a line");
        }
        case "billing_zone" -> {
          text(json, zone);
          billing.put(name, zone);
        }
        case "billing_period", "billing_period_before" -> billing.put(name, text(json));
        case "billing_period_start_ms", "billing_period_end_ms", "billing_period_before_start_ms" ->
            billing.put(name, integer(json));
        default -> json.skipChildren();
      }
    }
    require(json.currentToken() == JsonToken.END_OBJECT, "the JSON object is incomplete");
    require(hasVerdict, "allowed is missing");
    if (decidedBy == null) {
      throw new UnreadableException("decided_by is missing or unknown");
    }
    line.decidedBy = decidedBy;
    requireRange("cost", line.cost, 1, CallLine.MAX_NUMBER);
    requireRange("policies_version", line.policiesVersion, 0, CallLine.MAX_NUMBER);
    requireRange("decided_at_ms", line.decidedAtEpochMillis, 0, MAX_EPOCH_MILLIS);
    requireSettlement(line.actualCost, settledAt);
    requireName("id", line.id);
    requireName("client", line.client);
    requireName("endpoint", line.endpoint);
    requireName("meter", line.meter);
    line.billed = billing.isEmpty() ? null : billed();
  }

  private void requireSettlement(@Nullable Long actualCost, @Nullable Long settledAt)
      throws UnreadableException {
    require(
        (actualCost == null) == (settledAt == null),
        "a settlement must have both actual_cost and settled_at_ms");
    require(
        line.settledCall == null || actualCost != null,
        "call_position is present, but actual_cost is missing");
    if (actualCost != null && settledAt != null) {
      requireRange("actual_cost", actualCost, 0, CallLine.MAX_NUMBER);
      requireRange("settled_at_ms", settledAt, 0, MAX_EPOCH_MILLIS);
      require(line.allowed, "a denied call must not have a settlement");
    }
  }

  private Billed billed() throws UnreadableException {
    boolean hasBefore =
        billing.containsKey("billing_period_before")
            || billing.containsKey("billing_period_before_start_ms");
    requireName("billing_zone", zone);
    long start = time("billing_period_start_ms");
    long end = time("billing_period_end_ms");
    long beforeStart = hasBefore ? time("billing_period_before_start_ms") : 0;
    long decidedAt = line.decidedAtEpochMillis;
    require(start <= decidedAt && decidedAt < end, "the billing period does not contain the call");
    require(hasBefore || decidedAt - start >= DAY_MILLIS, "billing_period_before is missing");
    require(!hasBefore || beforeStart < start, "the previous billing period is empty");
    return new Billed(
        date("billing_period"),
        zone.toString(),
        start,
        end,
        hasBefore ? date("billing_period_before") : null,
        beforeStart);
  }

  private String date(String member) throws UnreadableException {
    try {
      return LocalDate.parse(String.valueOf(billing.get(member))).toString();
    } catch (DateTimeParseException notADate) {
      throw new UnreadableException(member + " is not a date", notADate);
    }
  }

  private long time(String member) throws UnreadableException {
    if (!(billing.get(member) instanceof Long millis)) {
      throw new UnreadableException(member + " is missing");
    }
    requireRange(member, millis, -CallLine.MAX_NUMBER, CallLine.MAX_NUMBER);
    return millis;
  }

  private void charges(JsonParser json) throws IOException, UnreadableException {
    require(json.currentToken() == JsonToken.START_ARRAY, "charges is not an array");
    while (json.nextToken() == JsonToken.START_OBJECT) {
      charge(json, line.addCharge());
    }
    require(
        json.currentToken() == JsonToken.END_ARRAY, "charges has an element that is not an object");
  }

  private void charge(JsonParser json, CallLine.BucketCharge charge)
      throws IOException, UnreadableException {
    boolean hasKey = false;
    String algorithm = null;
    long capacity = 0;
    long refillTokens = 0;
    long refillPeriod = 0;
    long windowMicros = 0;
    long subWindows = 0;
    for (String name = json.nextFieldName(); name != null; name = json.nextFieldName()) {
      json.nextToken();
      switch (name) {
        case "key" -> {
          text(json, charge.key);
          hasKey = true;
        }
        case "epoch" -> {
          charge.epoch = integer(json);
          charge.isStamped = true;
        }
        case "cost" -> charge.cost = integer(json);
        case "charged" -> charge.charged = integer(json);
        case "version" -> charge.version = integer(json);
        case "full_at_us" -> charge.fullAtMicros = integer(json);
        case "algorithm" -> algorithm = text(json);
        case "capacity" -> {
          capacity = integer(json);
          charge.hasLimit = true;
        }
        case "refill_tokens" -> refillTokens = integer(json);
        case "refill_period_us" -> refillPeriod = integer(json);
        case "window_us" -> windowMicros = integer(json);
        case "sub_windows" -> subWindows = integer(json);
        case "ends_at_us" -> charge.endsAtMicros = integer(json);
        default -> json.skipChildren();
      }
    }
    require(hasKey, "charges.key is missing");
    requireRange("charges.cost", charge.cost, 0, CallLine.MAX_NUMBER);
    if (charge.isStamped) {
      requireRange("charges.epoch", charge.epoch, 1, CallLine.MAX_NUMBER);
      requireRange("charges.charged", charge.charged, charge.cost, CallLine.MAX_NUMBER);
      requireRange("charges.version", charge.version, 0, CallLine.MAX_NUMBER);
      requireRange("charges.full_at_us", charge.fullAtMicros, 0, CallLine.MAX_NUMBER);
    }
    if (charge.hasLimit) {
      String of =
          algorithm != null ? algorithm : charge.endsAtMicros > 0 ? Rate.QUOTA : Rate.TOKEN_BUCKET;
      charge.isTokenBucket = of.equals(Rate.TOKEN_BUCKET);
      if (charge.isTokenBucket) {
        charge.limit = number(of, capacity, refillTokens, refillPeriod);
      } else {
        requireRange("charges.ends_at_us", charge.endsAtMicros, 1, CallLine.MAX_NUMBER);
        charge.limit = number(of, capacity, subWindows, windowMicros);
      }
    }
  }

  /** Returns the number of a limit after checking it; see {@link Rate#of}. */
  private int number(String algorithm, long capacity, long refillTokens, long periodMicros)
      throws UnreadableException {
    long hash =
        Hash.of(Hash.of(algorithm.hashCode(), capacity), Hash.of(refillTokens, periodMicros));
    int slot = (int) hash & (MAX_RATES_KNOWN - 1);
    Rate known = knownRates[slot];
    if (known == null || !known.isOf(algorithm, capacity, refillTokens, periodMicros)) {
      try {
        known = Rate.of(algorithm, capacity, refillTokens, periodMicros);
      } catch (IllegalArgumentException wrong) {
        throw new UnreadableException("charges: " + wrong.getMessage(), wrong);
      }
      knownRates[slot] = known;
      knownNumbers[slot] = rates.number(known);
    }
    return knownNumbers[slot];
  }

  /**
   * Requires a name: 1 to 256 bytes of UTF-8, without control characters and unpaired surrogates.
   */
  private static void requireName(String member, CallLine.Text text) throws UnreadableException {
    int bytes = 0;
    int point;
    for (int i = 0; i < text.length(); i += Character.charCount(point)) {
      point = text.codePoint(i);
      if (Character.isISOControl(point)) {
        throw new UnreadableException(member + " has a control character");
      }
      if (point >= Character.MIN_SURROGATE && point <= Character.MAX_SURROGATE) {
        throw new UnreadableException(member + " has an unpaired surrogate");
      }
      bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    }
    if (bytes == 0) {
      throw new UnreadableException(member + " is missing or empty");
    }
    if (bytes > MAX_NAME_BYTES) {
      throw new UnreadableException(member + " has more than 256 bytes");
    }
  }

  private static void text(JsonParser json, CallLine.Text into)
      throws IOException, UnreadableException {
    requireToken(json, json.currentToken() == JsonToken.VALUE_STRING, " is not a string");
    into.set(json.getTextCharacters(), json.getTextOffset(), json.getTextLength());
  }

  private static String text(JsonParser json) throws IOException, UnreadableException {
    requireToken(json, json.currentToken() == JsonToken.VALUE_STRING, " is not a string");
    return json.getText();
  }

  private static long integer(JsonParser json) throws IOException, UnreadableException {
    requireToken(json, json.currentToken() == JsonToken.VALUE_NUMBER_INT, " is not an integer");
    return json.getLongValue();
  }

  private static boolean bool(JsonParser json) throws IOException, UnreadableException {
    boolean isTrue = json.currentToken() == JsonToken.VALUE_TRUE;
    requireToken(
        json, isTrue || json.currentToken() == JsonToken.VALUE_FALSE, " is neither true nor false");
    return isTrue;
  }

  private static void requireToken(JsonParser json, boolean holds, String fault)
      throws IOException, UnreadableException {
    if (!holds) {
      throw new UnreadableException(json.currentName() + fault);
    }
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
