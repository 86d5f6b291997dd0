// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.weir.limits.BillingPeriod;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageState;
import io.weir.topics.model.UsageWindow;
import java.io.IOException;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/**
 * Encodes the newest figures of one key and window as flat JSON, under a key that sorts by client,
 * meter, endpoint and time: wire version 1. The billing period is written only if it is not the UTC
 * month in which the window starts. Stateless and thread-safe.
 */
public final class UsageStateCodec {
  /**
   * The text in keys that stands for all endpoints without their own row. No key of an endpoint
   * contains it, since {@code @} is percent-encoded there.
   */
  private static final String OTHERS = "@others";

  private static final int PARTS = 4;
  private static final int START_DIGITS = 15;

  /** The value of the header {@code weir-type} on a state record. */
  public static final String TYPE = "usage";

  private UsageStateCodec() {}

  /**
   * Returns the record's key: client, meter and endpoint percent-encoded (RFC 3986, and therefore
   * without a slash) and the window's start in epoch milliseconds with 15 digits, joined by
   * slashes. The key of {@linkplain UsageKey#others() others} has {@code @others} in place of an
   * endpoint.
   */
  public static String key(UsageState state) {
    return prefix(state.key()) + start(state.window().startEpochMillis());
  }

  /** Returns the common prefix of the keys of all windows of one usage key. */
  public static String prefix(UsageKey key) {
    return prefix(key.client()) + encodedName(key.meter()) + '/' + encodedEndpoint(key) + '/';
  }

  /**
   * Returns the form of an endpoint in keys: percent-encoded, or {@code @others} for the
   * {@linkplain UsageKey#others() others}.
   */
  public static String encodedEndpoint(UsageKey key) {
    return key.others() ? OTHERS : encodedName(key.endpoint());
  }

  /** Returns the common prefix of the keys of all windows of one client. */
  public static String prefix(String client) {
    return encodedName(client) + '/';
  }

  /** Returns the last part of a key: a window's start, in a form that sorts by time. */
  public static String start(long startEpochMillis) {
    String digits = Long.toString(startEpochMillis);
    return "0".repeat(Math.max(0, START_DIGITS - digits.length())) + digits;
  }

  /** Returns the form of a name in keys: percent-encoded, and therefore ASCII without a slash. */
  public static String encodedName(String name) {
    return URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20");
  }

  /**
   * Returns whether a key of the state topic belongs to a client's figures rather than to a
   * partition.
   */
  public static boolean isOfClient(String key) {
    return !key.startsWith("@");
  }

  /** Returns the client whose figures have this key. */
  public static String client(String key) {
    return decodedName(key.substring(0, key.indexOf('/')));
  }

  /**
   * The usage key and window of a record's key.
   *
   * @param key the usage key
   * @param startEpochMillis start of the window
   */
  public record Row(UsageKey key, long startEpochMillis) {}

  /**
   * Decodes the key of a client's figures, for instance that of a tombstone.
   *
   * @throws MalformedRecordException if it is not the key of a client's figures
   */
  public static Row decodeKey(String key) throws MalformedRecordException {
    String[] parts = key.split("/", -1);
    if (parts.length != PARTS || !isStart(parts[3])) {
      throw new MalformedRecordException("not the key of a usage state: " + key);
    }
    try {
      String client = decodedName(parts[0]);
      String meter = decodedName(parts[1]);
      UsageKey named =
          parts[2].equals(OTHERS)
              ? UsageKey.others(client, meter)
              : new UsageKey(client, meter, decodedName(parts[2]));
      return new Row(named, Long.parseLong(parts[3]));
    } catch (IllegalArgumentException noNames) {
      throw new MalformedRecordException("not the key of a usage state: " + key, noNames);
    }
  }

  /** Returns whether a text has the form of {@link #start}. */
  public static boolean isStart(String text) {
    return text.length() == START_DIGITS && text.chars().allMatch(c -> c >= '0' && c <= '9');
  }

  private static String decodedName(String encoded) {
    return URLDecoder.decode(encoded, StandardCharsets.UTF_8);
  }

  /** Returns the record's value. */
  public static byte[] encode(UsageState state) {
    return Json.object(
        json -> {
          UsageRecordMembers.writeKeyAndWindow(json, state.key(), state.window());
          json.writeStringField("status", state.status().name().toLowerCase(Locale.ROOT));
          json.writeNumberField("revision", state.revision());
          UsageRecordMembers.writeCount(json, state.count());
          json.writeBooleanField("complete", state.complete());
          BillingPeriod own = state.ownPeriod();
          if (own != null && own.isUtcMonth()) {
            json.writeStringField(BillingMembers.NAME, own.name());
          } else if (own != null) {
            BillingMembers.write(json, own);
          }
        });
  }

  /**
   * Decodes a value.
   *
   * @throws MalformedRecordException if the bytes are not a state record
   */
  public static UsageState decode(byte[] bytes) throws MalformedRecordException {
    return Members.decode(
        bytes,
        "usage state",
        record -> {
          UsageWindow window = UsageRecordMembers.window(record);
          return new UsageState(
              UsageRecordMembers.key(record),
              window,
              UsageState.Status.valueOf(record.text("status").toUpperCase(Locale.ROOT)),
              record.integer("revision"),
              UsageRecordMembers.count(record),
              record.bool("complete"),
              BillingMembers.ofUsage(record, window));
        });
  }

  /**
   * The quantity and the denied calls of a row.
   *
   * @param quantity the quantity
   * @param callsDenied denied calls
   */
  public record Figures(long quantity, long callsDenied) {}

  /**
   * Decodes these figures of a value, several times faster than the whole value.
   *
   * @throws MalformedRecordException if they are missing; the rest of the value is not checked
   */
  public static Figures decodeFigures(byte[] bytes) throws MalformedRecordException {
    try (JsonParser json = Json.FACTORY.createParser(bytes)) {
      if (json.nextToken() != JsonToken.START_OBJECT) {
        throw new MalformedRecordException("a usage state must be a JSON object");
      }
      boolean hasQuantity = false;
      long quantity = 0;
      while (json.nextToken() == JsonToken.FIELD_NAME) {
        String member = json.currentName();
        JsonToken value = json.nextToken();
        if (value == JsonToken.VALUE_NUMBER_INT && member.equals("quantity")) {
          quantity = Json.integer(json, member);
          hasQuantity = true;
        } else if (value == JsonToken.VALUE_NUMBER_INT && member.equals("calls_denied")) {
          long callsDenied = Json.integer(json, member);
          if (hasQuantity) {
            return new Figures(quantity, callsDenied);
          }
        } else {
          json.skipChildren();
        }
      }
      throw new MalformedRecordException("a usage state must have quantity and calls_denied");
    } catch (IOException notJson) {
      throw new MalformedRecordException("a usage state must be JSON", notJson);
    }
  }
}
