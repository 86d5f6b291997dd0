// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import java.io.IOException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Reads the lines of batches by the table in docs/topics, without creating an object for each line.
 * It shares no code with the writers of lines. Not thread-safe.
 */
final class DecisionLines {
  private static final int MAX_TEXT_CHARS = 64 * 1024;
  private static final int MAX_NESTING = 16;
  private static final int MAX_RATES_KNOWN = 4_096;

  private static final JsonFactory JSON =
      JsonFactory.builder()
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxNestingDepth(MAX_NESTING)
                  .maxStringLength(MAX_TEXT_CHARS)
                  .maxNameLength(MAX_TEXT_CHARS)
                  .build())
          .build();

  private final Hash hash;
  private final Rates rates;
  private final DecisionLine line = new DecisionLine();

  /** Parses the rest of the batch; null before the first line and after an unreadable one. */
  private @Nullable JsonParser parser;

  private int parserStart;

  /** A cache of the numbers of recent limits, by a hash of their members. */
  private final long[] knownRates = new long[MAX_RATES_KNOWN];

  private final int[] knownNumbers = new int[MAX_RATES_KNOWN];

  DecisionLines(Hash hash, Rates rates) {
    this.hash = hash;
    this.rates = rates;
  }

  /** Receives each line. */
  interface Visitor {
    /**
     * Visits a line.
     *
     * @param call valid until the next line is visited
     * @param number the line's number in the batch, from 1
     */
    void visit(DecisionLine call, int number) throws IOException;
  }

  /** Thrown when a line breaks a rule in docs/topics. */
  private static final class UnreadableLineException extends Exception {
    private static final long serialVersionUID = 1L;

    UnreadableLineException(String message) {
      super(message, null, false, false);
    }
  }

  /**
   * Reads all lines of a batch.
   *
   * @return the number of unreadable lines
   */
  int read(byte[] batch, Visitor visitor) throws IOException {
    int unreadable = 0;
    int number = 0;
    try {
      for (int start = 0; start < batch.length; ) {
        int end = endOfLine(batch, start);
        number++;
        if (!readLine(batch, start, end)) {
          unreadable++;
          endParser(); // its position is unknown
        } else if (!line.isSettlement) {
          visitor.visit(line, number);
        }
        start = end + 1;
      }
    } finally {
      endParser();
    }
    return unreadable;
  }

  private void endParser() throws IOException {
    if (parser != null) {
      parser.close();
      parser = null;
    }
  }

  private static int endOfLine(byte[] batch, int start) {
    int end = start;
    while (end < batch.length && batch[end] != '\n') {
      end++;
    }
    return end;
  }

  /**
   * Reads the object of a line. The line must contain nothing else. One parser continues from line
   * to line, because creating a parser costs about as much as reading a line.
   */
  private boolean readLine(byte[] batch, int start, int end) {
    line.clear();
    if (isBlank(batch, start, end)) {
      return false;
    }
    try {
      JsonParser json = parser;
      if (json == null) {
        json = JSON.createParser(batch, start, batch.length - start);
        parser = json;
        parserStart = start;
      }
      require(json.nextToken() == JsonToken.START_OBJECT, "a line is not an object");
      members(json);
      long read = json.currentLocation().getByteOffset(); // negative in other encodings
      require(read > 0 && read <= end - parserStart, "the object continues in the next line");
      require(isBlank(batch, parserStart + (int) read, end), "the line continues after the object");
      return true;
    } catch (IOException | UnreadableLineException | IllegalArgumentException unreadable) {
      return false;
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

  private void members(JsonParser json) throws IOException, UnreadableLineException {
    boolean hasId = false;
    boolean hasVerdict = false;
    DecisionLine.By decidedBy = null;
    for (String name = json.nextFieldName(); name != null; name = json.nextFieldName()) {
      JsonToken token = json.nextToken();
      switch (name) {
        case "id" -> {
          require(token == JsonToken.VALUE_STRING, name);
          line.id = hash.of(json.getTextCharacters(), json.getTextOffset(), json.getTextLength());
          hasId = true;
        }
        case "client" -> text(json, token, line.client);
        case "endpoint" -> text(json, token, line.endpoint);
        case "meter" -> text(json, token, line.meter);
        case "policy" -> text(json, token, line.policy);
        case "cost" -> line.cost = integer(json, token);
        case "allowed" -> {
          require(token == JsonToken.VALUE_TRUE || token == JsonToken.VALUE_FALSE, name);
          line.allowed = token == JsonToken.VALUE_TRUE;
          hasVerdict = true;
        }
        case "decided_by" -> {
          require(token == JsonToken.VALUE_STRING, name);
          decidedBy =
              DecisionLine.By.of(
                  json.getTextCharacters(), json.getTextOffset(), json.getTextLength());
        }
        case "policies_version" -> line.policiesVersion = integer(json, token);
        case "decided_at_ms" -> line.decidedAtEpochMillis = integer(json, token);
        case "ip_prefix" -> line.hasAddress = true;
        case "charges" -> charges(json, token);
        case "actual_cost" -> line.isSettlement = true;
        default -> json.skipChildren();
      }
    }
    require(json.currentToken() == JsonToken.END_OBJECT, "the object does not end");
    if (decidedBy == null) {
      throw new UnreadableLineException("decided_by");
    }
    line.decidedBy = decidedBy;
    require(
        hasId
            && hasVerdict
            && line.client.length > 0
            && line.endpoint.length > 0
            && line.meter.length > 0
            && line.cost >= 1
            && line.decidedAtEpochMillis >= 0
            && line.decidedAtEpochMillis <= Rate.MAX_NUMBER / 1_000,
        "a member is missing or out of range");
  }

  private void charges(JsonParser json, JsonToken token)
      throws IOException, UnreadableLineException {
    require(token == JsonToken.START_ARRAY, "charges");
    while (json.nextToken() == JsonToken.START_OBJECT) {
      charge(json, line.addCharge());
    }
    require(json.currentToken() == JsonToken.END_ARRAY, "charges");
  }

  private void charge(JsonParser json, DecisionLine.BucketCharge charge)
      throws IOException, UnreadableLineException {
    charge.key.length = 0;
    charge.isStamped = false;
    charge.cost = -1;
    charge.charged = 0;
    charge.version = 0;
    charge.fullAtMicros = 0;
    charge.hasLimit = false;
    String algorithm = null;
    long capacity = 0;
    long refillTokens = 0;
    long refillPeriod = 0;
    long windowMicros = 0;
    long subWindows = 0;
    long endsAt = 0;
    for (String name = json.nextFieldName(); name != null; name = json.nextFieldName()) {
      JsonToken token = json.nextToken();
      switch (name) {
        case "key" -> text(json, token, charge.key);
        case "epoch" -> {
          charge.epoch = integer(json, token);
          charge.isStamped = true;
        }
        case "cost" -> charge.cost = integer(json, token);
        case "charged" -> charge.charged = integer(json, token);
        case "version" -> charge.version = integer(json, token);
        case "full_at_us" -> charge.fullAtMicros = integer(json, token);
        case "algorithm" -> {
          require(token == JsonToken.VALUE_STRING, name);
          algorithm = json.getText();
        }
        case "capacity" -> {
          capacity = integer(json, token);
          charge.hasLimit = true;
        }
        case "refill_tokens" -> refillTokens = integer(json, token);
        case "refill_period_us" -> refillPeriod = integer(json, token);
        case "window_us" -> windowMicros = integer(json, token);
        case "ends_at_us" -> endsAt = integer(json, token);
        case "sub_windows" -> subWindows = integer(json, token);
        default -> json.skipChildren();
      }
    }
    require(charge.key.length > 0 && charge.cost >= 0, "charges");
    require(!charge.isStamped || charge.charged >= charge.cost, "charges.charged");
    charge.endsAtMicros = endsAt;
    if (charge.hasLimit) {
      String named = algorithm == null ? (endsAt > 0 ? Rate.QUOTA : Rate.TOKEN_BUCKET) : algorithm;
      charge.isTokenBucket = named.equals(Rate.TOKEN_BUCKET);
      charge.limit =
          rateNumber(
              named,
              capacity,
              charge.isTokenBucket ? refillTokens : subWindows,
              charge.isTokenBucket ? refillPeriod : windowMicros);
    }
  }

  private int rateNumber(String algorithm, long capacity, long refillTokens, long period) {
    long key = Hash.of(Hash.of(algorithm.hashCode(), capacity), Hash.of(refillTokens, period)) | 1;
    int slot = (int) (key >>> 1) & (MAX_RATES_KNOWN - 1);
    if (knownRates[slot] != key) {
      knownNumbers[slot] = rates.number(Rate.of(algorithm, capacity, refillTokens, period));
      knownRates[slot] = key;
    }
    return knownNumbers[slot];
  }

  private void text(JsonParser json, JsonToken token, DecisionLine.Text into)
      throws IOException, UnreadableLineException {
    require(token == JsonToken.VALUE_STRING, "a text");
    char[] chars = json.getTextCharacters();
    int from = json.getTextOffset();
    int length = json.getTextLength();
    if (length > into.chars.length) {
      into.chars = Arrays.copyOf(into.chars, length);
    }
    System.arraycopy(chars, from, into.chars, 0, length);
    into.length = length;
    into.hash = hash.of(chars, from, length);
  }

  private static long integer(JsonParser json, JsonToken token)
      throws IOException, UnreadableLineException {
    require(token == JsonToken.VALUE_NUMBER_INT, "a number");
    long number = json.getLongValue();
    require(number >= 0 && number <= Rate.MAX_NUMBER, "a number");
    return number;
  }

  private static void require(boolean holds, String otherwise) throws UnreadableLineException {
    if (!holds) {
      throw new UnreadableLineException(otherwise);
    }
  }
}
