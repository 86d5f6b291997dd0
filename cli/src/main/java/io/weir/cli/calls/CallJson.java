// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.calls;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import io.weir.limits.BilledIn;
import io.weir.limits.BillingPeriod;
import io.weir.limits.BucketLimit;
import io.weir.limits.LimitAlgorithm;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.Charge;
import io.weir.topics.model.Stamp;
import io.weir.topics.model.UsagePosition;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;

/**
 * Formats a call or settlement as a JSON object. The schema is {@code
 * io/weir/topics/schema/call-line.json}. Stateless and thread-safe.
 */
final class CallJson {
  private static final JsonFactory JSON = new JsonFactory();

  private CallJson() {}

  /** Returns the JSON object of a call, without a line feed. */
  static String format(CallEvent call) {
    StringWriter text = new StringWriter();
    try (JsonGenerator json = JSON.createGenerator(text)) {
      json.writeStartObject();
      write(json, call);
      json.writeEndObject();
    } catch (IOException impossible) {
      throw new UncheckedIOException("writing JSON to memory failed", impossible);
    }
    return text.toString();
  }

  private static void write(JsonGenerator json, CallEvent call) throws IOException {
    json.writeStringField("id", call.id());
    json.writeStringField("client", call.client());
    json.writeStringField("endpoint", call.endpoint());
    json.writeStringField("meter", call.meter());
    json.writeNumberField("cost", call.cost());
    json.writeBooleanField("allowed", call.allowed());
    json.writeStringField("decided_by", call.decidedBy().wireName());
    String policy = call.policy();
    if (policy != null) {
      json.writeStringField("policy", policy);
    }
    json.writeNumberField("policies_version", call.policiesVersion());
    json.writeNumberField("decided_at_ms", call.decidedAtEpochMillis());
    String ipPrefix = call.ipPrefix();
    if (ipPrefix != null) {
      json.writeStringField("ip_prefix", ipPrefix);
    }
    if (!call.charges().isEmpty()) {
      json.writeArrayFieldStart("charges");
      for (Charge charge : call.charges()) {
        write(json, charge);
      }
      json.writeEndArray();
    }
    if (call.idFromCaller()) {
      json.writeBooleanField("id_from_caller", true);
    }
    BilledIn billing = call.billing();
    if (billing != null) {
      write(json, billing);
    }
    CallSettlement settlement = call.settlement();
    if (settlement != null) {
      json.writeNumberField("actual_cost", settlement.actualCost());
      json.writeNumberField("settled_at_ms", settlement.settledAtEpochMillis());
      UsagePosition position = settlement.call();
      if (position != null) {
        json.writeStringField("call_position", position.toString());
      }
    }
  }

  private static void write(JsonGenerator json, Charge charge) throws IOException {
    json.writeStartObject();
    json.writeStringField("key", charge.bucket());
    Stamp stamp = charge.stamp();
    if (stamp != null) {
      json.writeNumberField("epoch", stamp.epoch());
    }
    json.writeNumberField("cost", charge.cost());
    if (stamp != null) {
      json.writeNumberField("charged", stamp.charged());
      if (stamp.version() > 0) {
        json.writeNumberField("version", stamp.version());
      }
      if (stamp.fullAtEpochMicros() > 0) {
        json.writeNumberField("full_at_us", stamp.fullAtEpochMicros());
      }
    }
    BucketLimit limit = charge.limit();
    if (limit != null) {
      if (limit.algorithm() != LimitAlgorithm.TOKEN_BUCKET) {
        json.writeStringField("algorithm", limit.algorithm().wireName());
      }
      limit.<IOException>writeTo(json::writeNumberField);
    }
    json.writeEndObject();
  }

  private static void write(JsonGenerator json, BilledIn billing) throws IOException {
    BillingPeriod period = billing.period();
    json.writeStringField("billing_period", period.name());
    json.writeNumberField("billing_period_start_ms", period.startEpochMillis());
    json.writeNumberField("billing_period_end_ms", period.endEpochMillis());
    json.writeStringField("billing_zone", period.timeZone());
    BillingPeriod before = billing.before();
    if (before != null) {
      json.writeStringField("billing_period_before", before.name());
      json.writeNumberField("billing_period_before_start_ms", before.startEpochMillis());
    }
  }
}
