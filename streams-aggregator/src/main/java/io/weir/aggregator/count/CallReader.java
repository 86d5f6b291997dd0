// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.Names;
import io.weir.topics.wire.CallLineCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads call lines for counting. A line that is written as {@link CallLineCodec#encode} writes it,
 * in ASCII without escapes, is read by comparing bytes, since decoding is the larger part of the
 * work per call; every other line is left to the codec, so that both accept and refuse the same.
 * Charges are checked but not kept. Not safe for threads.
 */
final class CallReader {
  /** Digits that always fit an int64. */
  private static final int MAX_DIGITS = 18;

  private static final byte[] ID = ascii("{\"id\":\"");
  private static final byte[] CLIENT = ascii(",\"client\":\"");
  private static final byte[] ENDPOINT = ascii(",\"endpoint\":\"");
  private static final byte[] METER = ascii(",\"meter\":\"");
  private static final byte[] COST = ascii(",\"cost\":");
  private static final byte[] ALLOWED = ascii(",\"allowed\":true");
  private static final byte[] DENIED = ascii(",\"allowed\":false");
  private static final byte[] DECIDED_BY = ascii(",\"decided_by\":\"");
  private static final byte[] POLICY = ascii(",\"policy\":\"");
  private static final byte[] POLICIES_VERSION = ascii(",\"policies_version\":");
  private static final byte[] DECIDED_AT = ascii(",\"decided_at_ms\":");
  private static final byte[] IP_PREFIX = ascii(",\"ip_prefix\":\"");
  private static final byte[] CHARGES = ascii(",\"charges\":[");
  private static final byte[] CHARGE_KEY = ascii("{\"key\":\"");
  private static final byte[] CHARGE_EPOCH = ascii(",\"epoch\":");
  private static final byte[] CHARGE_CHARGED = ascii(",\"charged\":");
  private static final byte[] ID_FROM_CALLER = ascii(",\"id_from_caller\":true");
  private static final byte[] NONE = {};

  private final TextCache texts = new TextCache();
  private byte[] bytes = NONE;
  private int position;
  private int end;
  private boolean isOther;

  /**
   * Reads one line.
   *
   * @param value holds the line
   * @param lineStart its first byte
   * @param lineEnd the first byte behind it
   * @throws MalformedRecordException when the bytes are not a call; the message names the member
   */
  CallEvent read(byte[] value, int lineStart, int lineEnd) throws MalformedRecordException {
    bytes = value;
    position = lineStart;
    end = lineEnd;
    isOther = false;
    CallEvent call = readCanonical();
    return call != null ? call : CallLineCodec.decode(value, lineStart, lineEnd - lineStart);
  }

  private @Nullable CallEvent readCanonical() {
    require(ID);
    String id = text(false);
    require(CLIENT);
    String client = text(true);
    require(ENDPOINT);
    String endpoint = text(true);
    require(METER);
    String meter = text(true);
    require(COST);
    long cost = integer();
    boolean allowed = skip(ALLOWED);
    if (!allowed) {
      require(DENIED);
    }
    require(DECIDED_BY);
    DecidedBy decidedBy = DecidedBy.ofWireName(text(true));
    String policy = skip(POLICY) ? text(true) : null;
    require(POLICIES_VERSION);
    long policiesVersion = integer();
    require(DECIDED_AT);
    long decidedAtEpochMillis = integer();
    if (skip(IP_PREFIX)) {
      text(true);
    }
    if (skip(CHARGES)) {
      skipCharges();
    }
    boolean idFromCaller = skip(ID_FROM_CALLER);
    requireByte('}');
    if (isOther
        || position != end
        || cost < 1
        || cost > CallEvent.MAX_QUANTITY
        || decidedBy == null) {
      return null;
    }
    return new CallEvent(
        id,
        idFromCaller,
        client,
        endpoint,
        meter,
        cost,
        allowed,
        decidedBy,
        policy,
        policiesVersion,
        decidedAtEpochMillis,
        null,
        List.of());
  }

  private void skipCharges() {
    do {
      require(CHARGE_KEY);
      text(true);
      require(CHARGE_EPOCH);
      integer();
      require(COST);
      long cost = integer();
      require(CHARGE_CHARGED);
      long charged = integer();
      requireByte('}');
      isOther |= cost < 1 || charged < cost;
    } while (!isOther && skipByte(','));
    requireByte(']');
  }

  /** The text up to the next quote, which is taken too; 1 to 256 printable ASCII characters. */
  private String text(boolean repeats) {
    int start = position;
    int hash = 0;
    while (position < end && bytes[position] != '"') {
      byte next = bytes[position++];
      isOther |= next < 0x20 || next == 0x7f || next == '\\';
      hash = 31 * hash + next;
    }
    int length = position - start;
    isOther |= length == 0 || length > Names.MAX_BYTES;
    requireByte('"');
    if (isOther) {
      return "";
    }
    return repeats
        ? texts.get(bytes, start, length, hash)
        : new String(bytes, start, length, StandardCharsets.ISO_8859_1);
  }

  private long integer() {
    int start = position;
    long number = 0;
    while (position < end && bytes[position] >= '0' && bytes[position] <= '9') {
      number = 10 * number + (bytes[position++] - '0');
    }
    int digits = position - start;
    isOther |= digits == 0 || digits > MAX_DIGITS || (digits > 1 && bytes[start] == '0');
    return number;
  }

  private boolean skip(byte[] expected) {
    int behind = position + expected.length;
    if (behind > end || !Arrays.equals(bytes, position, behind, expected, 0, expected.length)) {
      return false;
    }
    position = behind;
    return true;
  }

  private void require(byte[] expected) {
    isOther |= !skip(expected);
  }

  private boolean skipByte(char expected) {
    if (position < end && bytes[position] == expected) {
      position++;
      return true;
    }
    return false;
  }

  private void requireByte(char expected) {
    isOther |= !skipByte(expected);
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}
