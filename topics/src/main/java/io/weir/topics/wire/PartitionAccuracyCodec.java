// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.model.PartitionAccuracy;
import io.weir.topics.model.PartitionAccuracy.Figures;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/**
 * Codec for the accuracy of a partition's decisions, as JSON in wire version 1. Stateless and
 * thread-safe.
 */
public final class PartitionAccuracyCodec {
  /** The value of the header {@code weir-type} on an accuracy record. */
  public static final String TYPE = "accuracy";

  private PartitionAccuracyCodec() {}

  /**
   * Returns the record's key. The key begins with {@code @}, so it differs from the key of every
   * usage state, where {@code @} is percent-encoded.
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
   * @throws MalformedRecordException if the bytes are not a valid record; the message states the
   *     member
   */
  public static PartitionAccuracy decode(byte[] bytes) throws MalformedRecordException {
    return Members.decode(bytes, "accuracy record", PartitionAccuracyCodec::accuracy);
  }

  private static PartitionAccuracy accuracy(Members record) throws MalformedRecordException {
    Map<String, Figures> policies = new HashMap<>();
    for (Members policy : record.objects("policies")) {
      policies.put(
          policy.text("policy", ""),
          new Figures(
              policy.integer("decided", 0),
              policy.integer("wrongly_admitted", 0),
              policy.integer("wrongly_denied", 0),
              policy.integer("drift_now", 0),
              policy.integer("outage", 0),
              policy.integer("outage_open", 0)));
    }
    Map<Cause, Long> corrections = new EnumMap<>(Cause.class);
    for (Members cause : record.objects("corrections")) {
      corrections.put(Cause.ofWireName(cause.text("reason", "")), cause.integer("count", 0));
    }
    return new PartitionAccuracy(
        record.smallInteger("partition"),
        record.integer("as_of_ms"),
        policies,
        corrections,
        record.integers("delays"));
  }
}
