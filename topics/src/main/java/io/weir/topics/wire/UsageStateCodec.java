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
 * Codec for the newest figures of one usage key and window, as flat JSON in wire version 1. The
 * record's key sorts by client, meter, endpoint and time. The billing period is absent if it is the
 * UTC month in which the window starts. Stateless and thread-safe.
 */
public final class UsageStateCodec {
  /**
   * The text that represents the others in keys. This text differs from the text of every endpoint,
   * where {@code @} is percent-encoded.
   */
  private static final String OTHERS = "@others";

  private static final int PARTS = 4;
  private static final int START_DIGITS = 15;

  /** The value of the header {@code weir-type} on a state record. */
  public static final String TYPE = "usage";

  private UsageStateCodec() {}

  /**
   * Returns the record's key: the client, the meter, the endpoint and the window's start, joined by
   * slashes. The names are percent-encoded (RFC 3986), so they contain no slash. The start is in
   * epoch milliseconds with 15 digits. For the {@linkplain UsageKey#others() others}, the endpoint
   * is {@code @others}.
   */
  public static String key(UsageState state) {
    return prefix(state.key()) + start(state.window().startEpochMillis());
  }

  /** Returns the prefix that all windows of a usage key have in their keys. */
  public static String prefix(UsageKey key) {
    return prefix(key.client()) + encodedName(key.meter()) + '/' + encodedEndpoint(key) + '/';
  }

  /**
   * Returns the text of an endpoint in keys: percent-encoded, or {@code @others} for the
   * {@linkplain UsageKey#others() others}.
   */
  public static String encodedEndpoint(UsageKey key) {
    return key.others() ? OTHERS : encodedName(key.endpoint());
  }

  /** Returns the prefix that all windows of a client have in their keys. */
  public static String prefix(String client) {
    return encodedName(client) + '/';
  }

  /** Returns the last part of a key: the window's start, in a form that sorts by time. */
  public static String start(long startEpochMillis) {
    String digits = Long.toString(startEpochMillis);
    return "0".repeat(Math.max(0, START_DIGITS - digits.length())) + digits;
  }

  /** Returns the text of a name in keys: percent-encoded, so ASCII without a slash. */
  public static String encodedName(String name) {
    return URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20");
  }

  /**
   * Returns whether a key of the state topic is the key of a client's figures; false for the key of
   * a partition.
   */
  public static boolean isOfClient(String key) {
    return !key.startsWith("@");
  }

  /** Returns the client in the key of a client's figures. */
  public static String client(String key) {
    return decodedName(key.substring(0, key.indexOf('/')));
  }

  /**
   * The usage key and the window's start in a record's key.
   *
   * @param key the usage key
   * @param startEpochMillis start of the window
   */
  public record Row(UsageKey key, long startEpochMillis) {}

  /**
   * Decodes the key of a client's figures, or of the tombstone that deletes them.
   *
   * @throws MalformedRecordException if the text is not the key of a client's figures
   */
  public static Row decodeKey(String key) throws MalformedRecordException {
    String[] parts = key.split("/", -1);
    if (parts.length != PARTS || !isStart(parts[3])) {
      throw new MalformedRecordException("the text is not the key of a usage state: " + key);
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
      throw new MalformedRecordException(
          "the text is not the key of a usage state: " + key, noNames);
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
   * The quantity and the number of denied calls of a state record.
   *
   * @param quantity the quantity
   * @param callsDenied number of denied calls
   */
  public record Figures(long quantity, long callsDenied) {}

  /**
   * Decodes only the quantity and the number of denied calls, which is several times faster than
   * decoding the whole value.
   *
   * @throws MalformedRecordException if a figure is missing; the rest of the value is not checked
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
