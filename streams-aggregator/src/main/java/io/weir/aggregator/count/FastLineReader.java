// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.limits.BilledIn;
import io.weir.limits.BucketLimit;
import io.weir.limits.Names;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.Stamp;
import io.weir.topics.wire.CallLineCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A fast reader of call lines. Most of the work for a call is the decoding of its line. If a line
 * is exactly as {@link CallLineCodec#encode} writes it, in ASCII without escapes, the reader
 * compares bytes. The reader passes every other line to the codec, so the reader and the codec
 * accept the same lines. Not thread-safe.
 */
final class FastLineReader {
  /** Maximum number of digits of a valid number. */
  private static final int MAX_DIGITS = 16;

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
  private static final byte[] CHARGE_VERSION = ascii(",\"version\":");
  private static final byte[] CHARGE_FULL_AT = ascii(",\"full_at_us\":");
  private static final byte[] CHARGE_QUOTA = ascii(",\"algorithm\":\"quota\"");
  private static final byte[] CHARGE_WINDOW = ascii(",\"algorithm\":\"fixed-window\"");
  private static final byte[] CHARGE_SLIDING = ascii(",\"algorithm\":\"sliding-window\"");
  private static final byte[] CHARGE_CAPACITY = ascii(",\"capacity\":");
  private static final byte[] CHARGE_REFILL_TOKENS = ascii(",\"refill_tokens\":");
  private static final byte[] CHARGE_REFILL_PERIOD = ascii(",\"refill_period_us\":");
  private static final byte[] CHARGE_ENDS_AT = ascii(",\"ends_at_us\":");
  private static final byte[] CHARGE_WINDOW_LENGTH = ascii(",\"window_us\":");
  private static final byte[] CHARGE_SUB_WINDOWS = ascii(",\"sub_windows\":");
  private static final byte[] ID_FROM_CALLER = ascii(",\"id_from_caller\":true");
  private static final byte[] BILLING_PERIOD = ascii(",\"billing_period\":\"");
  private static final byte[] BILLING_START = ascii(",\"billing_period_start_ms\":");
  private static final byte[] BILLING_END = ascii(",\"billing_period_end_ms\":");
  private static final byte[] BILLING_ZONE = ascii(",\"billing_zone\":\"");
  private static final byte[] BILLING_BEFORE = ascii(",\"billing_period_before\":\"");
  private static final byte[] BILLING_BEFORE_START = ascii(",\"billing_period_before_start_ms\":");
  private static final byte[] NONE = {};

  private final TextCache texts = new TextCache();
  private final LimitCache limits = new LimitCache();
  private final BillingCache billings = new BillingCache();
  private byte[] bytes = NONE;
  private int position;
  private int end;
  private boolean isOther;

  /**
   * Reads one line.
   *
   * @param value the bytes that contain the line
   * @param lineStart index of the line's first byte
   * @param lineEnd index after the line's last byte
   * @throws MalformedRecordException if the bytes are not a call; the message names the invalid
   *     member
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
    List<Charge> charges = skip(CHARGES) ? charges() : List.of();
    boolean idFromCaller = skip(ID_FROM_CALLER);
    BilledIn billing = skip(BILLING_PERIOD) ? billing() : null;
    requireByte('}');
    if (isOther
        || position != end
        || cost < 1
        || decidedAtEpochMillis > CallEvent.MAX_EPOCH_MILLIS
        || decidedBy == null
        || (billing != null && !billing.isOf(decidedAtEpochMillis))) {
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
        charges,
        null,
        billing);
  }

  /** Reads the billing periods. Returns null if the codec must read the line. */
  private @Nullable BilledIn billing() {
    String name = text(true);
    require(BILLING_START);
    long startEpochMillis = integer();
    require(BILLING_END);
    long endEpochMillis = integer();
    require(BILLING_ZONE);
    String zone = text(true);
    String before = "";
    long beforeStart = 0;
    if (skip(BILLING_BEFORE)) {
      before = text(true);
      require(BILLING_BEFORE_START);
      beforeStart = integer();
    }
    if (isOther) {
      return null;
    }
    BilledIn billing =
        billings.get(name, zone, startEpochMillis, endEpochMillis, before, beforeStart);
    isOther = billing == null;
    return billing;
  }

  private List<Charge> charges() {
    Charge first = charge();
    if (isOther || !skipByte(',')) {
      requireByte(']');
      return first == null ? List.of() : List.of(first);
    }
    List<Charge> all = new ArrayList<>(4);
    all.add(first);
    do {
      all.add(charge());
    } while (!isOther && skipByte(','));
    requireByte(']');
    return isOther ? List.of() : all;
  }

  /** Reads one charge. Returns null if the codec must read the line. */
  private @Nullable Charge charge() {
    require(CHARGE_KEY);
    String bucket = text(true);
    boolean stamped = skip(CHARGE_EPOCH);
    long epoch = stamped ? integer() : 0;
    require(COST);
    long cost = integer();
    long charged = 0;
    long version = 0;
    long fullAt = 0;
    if (stamped) {
      require(CHARGE_CHARGED);
      charged = integer();
      version = skip(CHARGE_VERSION) ? integer() : 0;
      fullAt = skip(CHARGE_FULL_AT) ? integer() : 0;
    }
    boolean isQuota = skip(CHARGE_QUOTA);
    boolean isSliding = !isQuota && skip(CHARGE_SLIDING);
    boolean isWindow = isSliding || (!isQuota && skip(CHARGE_WINDOW));
    BucketLimit limit = skip(CHARGE_CAPACITY) ? limit(isQuota, isWindow, isSliding) : null;
    isOther |= limit == null && (isQuota || isWindow);
    requireByte('}');
    isOther |= stamped && (epoch < 1 || charged < cost);
    return isOther
        ? null
        : new Charge(
            bucket, cost, limit, stamped ? new Stamp(epoch, version, charged, fullAt) : null);
  }

  /**
   * Reads a limit. Returns null if the codec must read the line. The name of the algorithm precedes
   * the limit. Token buckets and old lines have no such name.
   */
  private @Nullable BucketLimit limit(boolean isQuota, boolean isWindow, boolean isSliding) {
    long capacity = integer();
    boolean refills = !isQuota && !isWindow && skip(CHARGE_REFILL_TOKENS);
    long refillTokens = 0;
    if (refills) {
      refillTokens = integer();
      isOther |= refillTokens == 0;
      require(CHARGE_REFILL_PERIOD);
    } else {
      require(CHARGE_ENDS_AT);
    }
    long micros = integer();
    long windowMicros = 0;
    if (isWindow) {
      require(CHARGE_WINDOW_LENGTH);
      windowMicros = integer();
      isOther |= windowMicros == 0;
    }
    long subWindows = 0;
    if (isSliding) {
      require(CHARGE_SUB_WINDOWS);
      subWindows = integer();
      isOther |= subWindows == 0;
    }
    if (isOther) {
      return null;
    }
    BucketLimit limit =
        limits.get(
            new LimitCache.Numbers(capacity, refillTokens, micros, windowMicros, subWindows));
    isOther = limit == null;
    return limit;
  }

  /** Reads a text of 1 to 256 printable ASCII characters and the following quote. */
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
    isOther |= number > CallEvent.MAX_QUANTITY;
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
