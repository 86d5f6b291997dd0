// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.weir.ingest.gate.Call;
import io.weir.ingest.gate.CallLog;
import io.weir.ingest.gate.CallRequest;
import io.weir.ingest.gate.KeyedCall;
import io.weir.ingest.http.JsonBody.Invalid;
import io.weir.limits.IpAddress;
import io.weir.limits.Names;
import io.weir.limits.policy.ApiKeyHash;
import io.weir.limits.policy.CallFacts;
import io.weir.topics.model.CallEvent;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads the body of a check, or of a batch of checks. */
final class CheckRequest {
  private static final String KNOWN =
      "client, api_key, endpoint, meter, cost, id, ip and attributes";

  /** Maximum number of attributes of a call. This maximum bounds the duration of matching. */
  static final int MAX_ATTRIBUTES = 64;

  /**
   * Maximum number of characters of an attribute's value. This maximum bounds the duration of
   * matching.
   */
  static final int MAX_ATTRIBUTE_CHARS = 1_024;

  private CheckRequest() {}

  static CallRequest read(byte[] body, UnknownMembers unknown) throws Invalid {
    return JsonBody.read(body, json -> readMembers(json, unknown));
  }

  /** Reads the body of a batch, an array of checks. */
  static List<JsonBody.Element<CallRequest>> readBatch(byte[] body, UnknownMembers unknown)
      throws Invalid {
    return JsonBody.readArray(body, 1, CallLog.MAX_CALLS, json -> readMembers(json, unknown));
  }

  private static CallRequest readMembers(JsonParser json, UnknownMembers unknown)
      throws IOException, Invalid {
    String client = null;
    ApiKeyHash apiKey = null;
    String endpoint = CallEvent.DEFAULT_ENDPOINT;
    String meter = CallEvent.DEFAULT_METER;
    String id = null;
    String ip = null;
    Map<String, String> attributes = Map.of();
    long cost = 1;
    for (String member = json.nextFieldName(); member != null; member = json.nextFieldName()) {
      JsonToken value = json.nextToken();
      switch (member) {
        case "client" -> client = JsonBody.name(json, value, member);
        case "api_key" -> apiKey = apiKey(json, value, member);
        case "endpoint" -> endpoint = JsonBody.name(json, value, member);
        case "meter" -> meter = JsonBody.name(json, value, member);
        case "id" -> id = id(json, value, member);
        case "ip" -> ip = JsonBody.text(json, value, member);
        case "cost" -> cost = JsonBody.units(json, value, member, 1);
        case "attributes" -> attributes = attributes(json, value, member);
        default -> JsonBody.unknown(json, member, KNOWN, unknown);
      }
    }
    if (apiKey != null) {
      if (client != null) {
        throw Invalid.member("api_key", "must not be given together with client; give one of them");
      }
      return new KeyedCall(apiKey, endpoint, meter, address(ip), attributes, cost, id);
    }
    if (client == null) {
      throw Invalid.member("client", "is missing; give client or api_key");
    }
    return new Call(new CallFacts(client, endpoint, meter, address(ip), attributes), cost, id);
  }

  /** Reads an id. The id must be valid in the path of a later settlement. */
  private static String id(JsonParser json, JsonToken value, String member)
      throws IOException, Invalid {
    String id = JsonBody.name(json, value, member);
    if (id.equals(".") || id.equals("..")) {
      throw Invalid.member(
          member, "must not be '.' or '..', because URLs cannot contain such an id");
    }
    return id;
  }

  /**
   * Reads an API key, and returns its hash. The details of problems never contain a part of the
   * key.
   */
  private static ApiKeyHash apiKey(JsonParser json, JsonToken value, String member)
      throws IOException, Invalid {
    String key = JsonBody.text(json, value, member);
    String violation = Names.violation(key, KeyedCall.MAX_API_KEY_BYTES);
    if (violation != null) {
      throw Invalid.member(member, violation);
    }
    return ApiKeyHash.of(key);
  }

  private static @Nullable IpAddress address(@Nullable String ip) throws Invalid {
    if (ip == null) {
      return null;
    }
    IpAddress address = IpAddress.parse(ip);
    if (address == null) {
      throw Invalid.member("ip", "must be an IPv4 or IPv6 address");
    }
    return address;
  }

  /** Reads the attributes that policies can match: strings, numbers, true and false. */
  private static Map<String, String> attributes(JsonParser json, JsonToken value, String member)
      throws IOException, Invalid {
    if (value != JsonToken.START_OBJECT) {
      throw Invalid.member(member, "must be an object");
    }
    Map<String, String> attributes = new HashMap<>();
    for (String name = json.nextFieldName(); name != null; name = json.nextFieldName()) {
      JsonToken token = json.nextToken();
      if (token.isScalarValue() && token != JsonToken.VALUE_NULL) {
        if (json.getTextLength() > MAX_ATTRIBUTE_CHARS) {
          throw Invalid.member(
              member, "must have values of at most " + MAX_ATTRIBUTE_CHARS + " characters");
        }
        attributes.put(name, json.getText());
        if (attributes.size() > MAX_ATTRIBUTES) {
          throw Invalid.member(member, "must have at most " + MAX_ATTRIBUTES + " values");
        }
      } else {
        json.skipChildren();
      }
    }
    return attributes;
  }
}
