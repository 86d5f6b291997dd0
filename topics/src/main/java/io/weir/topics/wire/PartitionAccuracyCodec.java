// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.model.PartitionAccuracy;
import io.weir.topics.model.PartitionAccuracy.Figures;
import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Encodes the accuracy of a partition's decisions as JSON: wire version 1. Stateless and
 * thread-safe.
 */
public final class PartitionAccuracyCodec {
  /** The value of the header {@code weir-type} on such a record. */
  public static final String TYPE = "accuracy";

  private PartitionAccuracyCodec() {}

  /**
   * Returns the record's key. No usage state's key begins with {@code @}, which would be
   * percent-encoded.
   */
  public static String key(int partition) {
    return String.format(Locale.ROOT, "@accuracy/%05d", partition);
  }

  /** Returns the record's value. */
  public static byte[] encode(PartitionAccuracy accuracy) {
    return Json.object(
        json -> {
          json.writeNumberField("partition", accuracy.partition());
          json.writeNumberField("as_of_ms", accuracy.asOfEpochMillis());
          json.writeArrayFieldStart("policies");
          for (var policy : accuracy.policies().entrySet()) {
            Figures figures = policy.getValue();
            json.writeStartObject();
            json.writeStringField("policy", policy.getKey());
            json.writeNumberField("decided", figures.decided());
            json.writeNumberField("wrongly_admitted", figures.wronglyAdmitted());
            json.writeNumberField("wrongly_denied", figures.wronglyDenied());
            json.writeNumberField("drift_now", figures.driftNowTokens());
            json.writeNumberField("outage", figures.outageTokens());
            json.writeNumberField("outage_open", figures.outageOpenTokens());
            json.writeEndObject();
          }
          json.writeEndArray();
          json.writeArrayFieldStart("corrections");
          for (var cause : accuracy.corrections().entrySet()) {
            json.writeStartObject();
            json.writeStringField("reason", cause.getKey().wireName());
            json.writeNumberField("count", cause.getValue());
            json.writeEndObject();
          }
          json.writeEndArray();
          json.writeArrayFieldStart("delays");
          for (long count : accuracy.delays()) {
            json.writeNumber(count);
          }
          json.writeEndArray();
        });
  }

  /**
   * Decodes a value.
   *
   * @throws MalformedRecordException if the bytes are not such a record; the message names the
   *     member
   */
  public static PartitionAccuracy decode(byte[] bytes) throws MalformedRecordException {
    Members record = Members.read(bytes, "accuracy record");
    Map<String, Figures> policies = new HashMap<>();
    Map<Cause, Long> corrections = new EnumMap<>(Cause.class);
    List<Long> delays = new ArrayList<>();
    try (JsonParser json = Json.FACTORY.createParser(bytes)) {
      json.nextToken();
      while (json.nextToken() == JsonToken.FIELD_NAME) {
        String member = json.currentName();
        json.nextToken();
        switch (member) {
          case "policies" -> readPolicies(json, policies);
          case "corrections" -> readCorrections(json, corrections);
          case "delays" -> {
            while (json.nextToken() != JsonToken.END_ARRAY) {
              delays.add(Json.integer(json, member));
            }
          }
          default -> json.skipChildren();
        }
      }
      return new PartitionAccuracy(
          record.smallInteger("partition"),
          record.integer("as_of_ms"),
          policies,
          corrections,
          delays);
    } catch (IOException notJson) {
      throw new MalformedRecordException("an accuracy record must be JSON", notJson);
    } catch (IllegalArgumentException | ArithmeticException badValue) {
      throw new MalformedRecordException("accuracy record: " + badValue.getMessage(), badValue);
    }
  }

  private static void readPolicies(JsonParser json, Map<String, Figures> into)
      throws IOException, MalformedRecordException {
    while (json.nextToken() == JsonToken.START_OBJECT) {
      Entry entry = Entry.read(json, "policy");
      into.put(
          entry.name,
          new Figures(
              entry.number("decided"),
              entry.number("wrongly_admitted"),
              entry.number("wrongly_denied"),
              entry.number("drift_now"),
              entry.number("outage"),
              entry.number("outage_open")));
    }
  }

  private static void readCorrections(JsonParser json, Map<Cause, Long> into)
      throws IOException, MalformedRecordException {
    while (json.nextToken() == JsonToken.START_OBJECT) {
      Entry entry = Entry.read(json, "reason");
      into.put(Cause.ofWireName(entry.name), entry.number("count"));
    }
  }

  /** A named list of numbers; absent ones are 0. */
  private record Entry(String name, Map<String, Long> numbers) {
    static Entry read(JsonParser json, String nameMember)
        throws IOException, MalformedRecordException {
      String name = "";
      Map<String, Long> numbers = new HashMap<>();
      while (json.nextToken() == JsonToken.FIELD_NAME) {
        String member = json.currentName();
        JsonToken value = json.nextToken();
        if (member.equals(nameMember)) {
          name = Json.text(json, member);
        } else if (value == JsonToken.VALUE_NUMBER_INT) {
          numbers.put(member, Json.integer(json, member));
        } else {
          json.skipChildren();
        }
      }
      return new Entry(name, numbers);
    }

    long number(String member) {
      return numbers.getOrDefault(member, 0L);
    }
  }
}
