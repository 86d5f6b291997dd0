// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.weir.limits.BilledIn;
import io.weir.limits.BillingPeriod;
import io.weir.limits.BucketLimit;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.Stamp;
import io.weir.topics.model.UsagePosition;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Codec for a call as one line of JSON in wire version 1, without the line feed.
 *
 * <p>Members: {@code id, client, endpoint, meter, cost, allowed, decided_by, policy,
 * policies_version, decided_at_ms, ip_prefix, charges[], id_from_caller, billing_period,
 * billing_period_start_ms, billing_period_end_ms, billing_zone, billing_period_before,
 * billing_period_before_start_ms, actual_cost, settled_at_ms, call_position}. A charge has {@code
 * key, epoch, cost, charged, version, full_at_us, capacity, refill_tokens, refill_period_us,
 * ends_at_us}. A charge without {@code epoch} has no stamp, and a charge without {@code capacity}
 * has no limit. A quota has {@code ends_at_us} and no refill. If {@code version} or {@code
 * full_at_us} is absent, its value is 0.
 *
 * <p>{@code policy}, {@code ip_prefix} and {@code charges} are optional. The defaults are 0 for
 * {@code policies_version}, false for {@code id_from_caller}, and the UTC month for {@code
 * billing_period}. Without {@code actual_cost} and {@code settled_at_ms}, the line is a call, not a
 * settlement. Without {@code call_position}, a settlement does not state the position of its call.
 * All other members of a line are required. Stateless and thread-safe.
 */
public final class CallLineCodec {
  private CallLineCodec() {}

  /** Returns the line of a call, without the line feed. */
  public static byte[] encode(CallEvent call) {
    return Json.object(json -> write(json, call));
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
      BillingMembers.write(json, billing.period());
      BillingPeriod before = billing.before();
      if (before != null) {
        json.writeStringField("billing_period_before", before.name());
        json.writeNumberField("billing_period_before_start_ms", before.startEpochMillis());
      }
    }
    CallSettlement settlement = call.settlement();
    if (settlement != null) {
      json.writeNumberField("actual_cost", settlement.actualCost());
      json.writeNumberField("settled_at_ms", settlement.settledAtEpochMillis());
      UsagePosition place = settlement.call();
      if (place != null) {
        json.writeStringField("call_position", place.toString());
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
      LimitMembers.write(json, limit);
    }
    json.writeEndObject();
  }

  /**
   * Decodes one line.
   *
   * @param bytes array that contains the line
   * @param offset index of the first byte of the line
   * @param length number of bytes of the line, without the line feed
   * @throws MalformedRecordException if the bytes are not a valid call; the message states the
   *     member
   */
  public static CallEvent decode(byte[] bytes, int offset, int length)
      throws MalformedRecordException {
    try (JsonParser json = Json.FACTORY.createParser(bytes, offset, length)) {
      if (json.nextToken() != JsonToken.START_OBJECT) {
        throw new MalformedRecordException("a call line must be a JSON object");
      }
      CallEvent call = readMembers(json);
      if (json.nextToken() != null) {
        throw new MalformedRecordException("a call line must contain only one object");
      }
      return call;
    } catch (IOException notJson) {
      throw new MalformedRecordException("a call line must be JSON", notJson);
    } catch (IllegalArgumentException badValue) {
      throw new MalformedRecordException(String.valueOf(badValue.getMessage()), badValue);
    }
  }

  private static CallEvent readMembers(JsonParser json)
      throws IOException, MalformedRecordException {
    String id = null;
    String client = null;
    String endpoint = null;
    String meter = null;
    String policy = null;
    String ipPrefix = null;
    DecidedBy decidedBy = null;
    Boolean allowed = null;
    long cost = 0;
    long policiesVersion = 0;
    long decidedAtEpochMillis = -1;
    boolean idFromCaller = false;
    List<Charge> charges = List.of();
    Long actualCost = null;
    Long settledAtEpochMillis = null;
    UsagePosition callPosition = null;
    BillingMembers billing = new BillingMembers();
    for (String member = json.nextFieldName(); member != null; member = json.nextFieldName()) {
      json.nextToken();
      switch (member) {
        case "id" -> id = Json.text(json, member);
        case "client" -> client = Json.text(json, member);
        case "endpoint" -> endpoint = Json.text(json, member);
        case "meter" -> meter = Json.text(json, member);
        case "cost" -> cost = Json.integer(json, member);
        case "allowed" -> allowed = Json.bool(json, member);
        case "decided_by" -> decidedBy = decidedBy(Json.text(json, member));
        case "policy" -> policy = Json.text(json, member);
        case "policies_version" -> policiesVersion = Json.integer(json, member);
        case "decided_at_ms" -> decidedAtEpochMillis = Json.integer(json, member);
        case "ip_prefix" -> ipPrefix = Json.text(json, member);
        case "charges" -> charges = readCharges(json);
        case "id_from_caller" -> idFromCaller = Json.bool(json, member);
        case "actual_cost" -> actualCost = Json.integer(json, member);
        case "settled_at_ms" -> settledAtEpochMillis = Json.integer(json, member);
        case "call_position" -> callPosition = position(Json.text(json, member));
        default -> {
          if (!billing.read(json, member)) {
            json.skipChildren();
          }
        }
      }
    }
    if (json.currentToken() != JsonToken.END_OBJECT) {
      throw new MalformedRecordException("a call line must be a complete JSON object");
    }
    if (allowed == null) {
      throw new MalformedRecordException("allowed is missing");
    }
    return new CallEvent(
        present(id, "id"),
        idFromCaller,
        present(client, "client"),
        present(endpoint, "endpoint"),
        present(meter, "meter"),
        cost,
        allowed,
        present(decidedBy, "decided_by"),
        policy,
        policiesVersion,
        decidedAtEpochMillis,
        ipPrefix,
        charges,
        actualCost == null && settledAtEpochMillis == null
            ? null
            : new CallSettlement(
                present(actualCost, "actual_cost"),
                present(settledAtEpochMillis, "settled_at_ms"),
                callPosition),
        billing.billedIn());
  }

  private static UsagePosition position(String text) throws MalformedRecordException {
    UsagePosition position = UsagePosition.parse(text);
    if (position == null) {
      throw new MalformedRecordException("call_position must be partition:node:epoch:line");
    }
    return position;
  }

  private static DecidedBy decidedBy(String wireName) throws MalformedRecordException {
    DecidedBy decidedBy = DecidedBy.ofWireName(wireName);
    if (decidedBy == null) {
      throw new MalformedRecordException("unknown decided_by: '" + wireName + "'");
    }
    return decidedBy;
  }

  private static List<Charge> readCharges(JsonParser json)
      throws IOException, MalformedRecordException {
    if (json.currentToken() != JsonToken.START_ARRAY) {
      throw new MalformedRecordException("charges must be an array");
    }
    List<Charge> charges = new ArrayList<>(2);
    while (json.nextToken() == JsonToken.START_OBJECT) {
      charges.add(readCharge(json));
    }
    if (json.currentToken() != JsonToken.END_ARRAY) {
      throw new MalformedRecordException("charges must contain only objects");
    }
    return charges;
  }

  private static Charge readCharge(JsonParser json) throws IOException, MalformedRecordException {
    String bucket = null;
    boolean stamped = false;
    long epoch = 0;
    long cost = -1;
    long charged = 0;
    long version = 0;
    long fullAtEpochMicros = 0;
    LimitMembers limit = new LimitMembers();
    for (String member = json.nextFieldName(); member != null; member = json.nextFieldName()) {
      json.nextToken();
      switch (member) {
        case "key" -> bucket = Json.text(json, member);
        case "epoch" -> {
          epoch = Json.integer(json, member);
          stamped = true;
        }
        case "cost" -> cost = Json.integer(json, member);
        case "charged" -> charged = Json.integer(json, member);
        case "version" -> version = Json.integer(json, member);
        case "full_at_us" -> fullAtEpochMicros = Json.integer(json, member);
        default -> {
          if (!limit.read(json, member)) {
            json.skipChildren();
          }
        }
      }
    }
    return new Charge(
        present(bucket, "charges.key"),
        cost,
        limit.limit(),
        stamped ? new Stamp(epoch, version, charged, fullAtEpochMicros) : null);
  }

  private static <T> T present(@Nullable T value, String member) throws MalformedRecordException {
    if (value == null) {
      throw new MalformedRecordException(member + " is missing");
    }
    return value;
  }
}
