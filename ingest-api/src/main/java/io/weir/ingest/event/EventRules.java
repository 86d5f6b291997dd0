// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.event;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.cloudevents.CloudEvent;
import io.cloudevents.SpecVersion;
import io.weir.ingest.gate.Usage;
import io.weir.limits.Names;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.HexFormat;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The rules that convert CloudEvents to usage. The event's {@code subject} is the client, and its
 * {@code type} determines the meter. Immutable and thread-safe.
 */
public final class EventRules {
  /**
   * Maximum time by which an event's time may be ahead of the node's clock. Clocks of machines
   * differ.
   */
  static final Duration MAX_AHEAD = Duration.ofMinutes(1);

  /** Maximum length of a source, and of an event's id, in bytes of UTF-8. */
  static final int MAX_PART_BYTES = 2_048;

  private static final String ID_PREFIX = "ce:";
  private static final String HASHED_ID_PREFIX = "ce-sha256:";

  private final Map<String, EventRule> byType;
  private final @Nullable EventRule otherTypes;
  private final long maxAgeMillis;

  /**
   * Creates rules.
   *
   * @param otherTypes the rule for types without a rule of their own; null if Weir refuses their
   *     events
   * @param maxAge maximum age of an event
   */
  EventRules(Map<String, EventRule> byType, @Nullable EventRule otherTypes, Duration maxAge) {
    this.byType = Map.copyOf(byType);
    this.otherTypes = otherTypes;
    this.maxAgeMillis = maxAge.toMillis();
  }

  /** Returns rules that refuse every event. */
  public static EventRules none() {
    return new EventRules(Map.of(), null, Duration.ZERO);
  }

  /** Provides an event's data as JSON. */
  public interface Data {
    /**
     * Returns the data.
     *
     * @return the data; null if the event has no data, or if its data is not JSON
     */
    @Nullable JsonNode json();
  }

  /**
   * Returns the usage that an event reports.
   *
   * @param data the event's data; read only if the rule of the type needs it
   * @param nowEpochMillis the current time, which applies to an event without {@code time}
   * @throws RefusedEventException if the event cannot be counted
   */
  public Usage usage(CloudEvent event, Data data, long nowEpochMillis)
      throws RefusedEventException {
    if (event.getSpecVersion() != SpecVersion.V1) {
      throw new RefusedEventException("specversion", "must be 1.0");
    }
    String source = event.getSource().toString();
    require("source", source, MAX_PART_BYTES);
    require("id", event.getId(), MAX_PART_BYTES);
    String client = event.getSubject();
    if (client == null) {
      throw new RefusedEventException("subject", "is missing; it names the client");
    }
    require("subject", client, Names.MAX_BYTES);
    EventRule rule = rule(event.getType());
    long at = time(event.getTime(), nowEpochMillis);
    JsonNode json = rule.readsData() ? data.json() : null;
    if (json == null && rule.readsData()) {
      throw new RefusedEventException(
          "data", "must be a JSON object, and datacontenttype must be absent or application/json");
    }
    JsonNode read = json == null ? MissingNode.getInstance() : json;
    return new Usage(
        callId(source, event.getId()),
        client,
        rule.endpoint(read),
        rule.meter(),
        rule.quantity(read),
        at);
  }

  /**
   * Returns the id of an event's call line. The event's {@code source} and {@code id} together
   * identify the event. The result contains the length of the source, so that two events have the
   * same id only if both attributes are equal. If the id exceeds the maximum length of a name, its
   * SHA-256 hash (FIPS 180-4) replaces it. Both attributes must comply with the {@linkplain
   * Names#violation rules for names}, except the rule for the length.
   */
  static String callId(String source, String id) {
    String whole = ID_PREFIX + source.length() + ":" + source + ":" + id;
    return Names.violation(whole) == null ? whole : HASHED_ID_PREFIX + sha256(whole);
  }

  private static String sha256(String text) {
    try {
      byte[] hash =
          MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(hash);
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException("every Java platform has SHA-256", impossible);
    }
  }

  private static void require(String attribute, String value, int maxBytes)
      throws RefusedEventException {
    String violation = Names.violation(value, maxBytes);
    if (violation != null) {
      throw new RefusedEventException(attribute, violation);
    }
  }

  private EventRule rule(String type) throws RefusedEventException {
    EventRule own = byType.get(type);
    if (own != null) {
      return own;
    }
    require("type", type, Names.MAX_BYTES);
    if (otherTypes == null) {
      throw new RefusedEventException(
          "type", "has no meter: WEIR_EVENTS_FILE has no rule for '" + type + "'");
    }
    return otherTypes;
  }

  private long time(@Nullable OffsetDateTime time, long nowEpochMillis)
      throws RefusedEventException {
    if (time == null) {
      return nowEpochMillis;
    }
    // compare seconds, because a year far in the past or future exceeds the range of
    // milliseconds
    long oldestSecond = (nowEpochMillis - maxAgeMillis) / 1_000;
    long newestSecond = (nowEpochMillis + MAX_AHEAD.toMillis()) / 1_000;
    if (time.toEpochSecond() < oldestSecond || time.toEpochSecond() < 0) {
      throw new RefusedEventException(
          "time",
          "must not be before "
              + Instant.ofEpochSecond(Math.max(0, oldestSecond))
              + "; Weir does not count older events (WEIR_EVENTS_MAX_AGE)");
    }
    if (time.toEpochSecond() > newestSecond) {
      throw new RefusedEventException(
          "time",
          "must be at most one minute after the node's time, "
              + Instant.ofEpochMilli(nowEpochMillis));
    }
    return time.toInstant().toEpochMilli();
  }
}
