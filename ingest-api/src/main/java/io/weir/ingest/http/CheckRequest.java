// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.util.JsonRecyclerPools;
import io.weir.ingest.gate.Call;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Names;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Reads the body of a check. Members that are not known are ignored. */
final class CheckRequest {
  private static final JsonFactory JSON =
      JsonFactory.builder()
          // a virtual thread lives for one request, so buffers kept by thread are never used again
          .recyclerPool(JsonRecyclerPools.sharedConcurrentDequePool())
          // the names are the callers': kept by the JVM they would be for ever
          .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
          // which of two clients is billed must not be a matter of who reads
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .streamReadConstraints(StreamReadConstraints.builder().maxNestingDepth(32).build())
          .build();

  private CheckRequest() {}

  /** A body that is not a check. */
  static final class Invalid extends Exception {
    private static final long serialVersionUID = 1L;
    private final transient Problem problem;

    Invalid(Problem problem) {
      super(problem.detail(), null, false, false);
      this.problem = problem;
    }

    Problem problem() {
      return problem;
    }
  }

  /** Reads the members of an object, which is entered and left around this. */
  interface Members<T> {
    T read(JsonParser json) throws IOException, Invalid;
  }

  static Call read(byte[] body) throws Invalid {
    return readObject(body, CheckRequest::readMembers);
  }

  /** Reads a body that is one object. */
  static <T> T readObject(byte[] body, Members<T> members) throws Invalid {
    if (!Utf8.isText(body)) {
      throw new Invalid(
          Problem.badBody("the body must be JSON in UTF-8: it holds bytes that are no UTF-8 text"));
    }
    try (JsonParser json = JSON.createParser(body)) {
      if (json.nextToken() != JsonToken.START_OBJECT) {
        throw new Invalid(Problem.badBody("the body must be a JSON object"));
      }
      T read = members.read(json);
      if (json.nextToken() != null) {
        throw new Invalid(Problem.badBody("the body must hold one JSON object only"));
      }
      return read;
    } catch (IOException notJson) {
      throw new Invalid(Problem.badBody("the body must be JSON in UTF-8: " + reason(notJson)));
    }
  }

  private static String reason(IOException notJson) {
    return notJson instanceof com.fasterxml.jackson.core.JsonProcessingException problem
        ? problem.getOriginalMessage()
        : String.valueOf(notJson.getMessage());
  }

  private static Call readMembers(JsonParser json) throws IOException, Invalid {
    String client = null;
    String endpoint = CallEvent.DEFAULT_ENDPOINT;
    String meter = CallEvent.DEFAULT_METER;
    String id = null;
    String ip = null;
    long cost = 1;
    for (String member = json.nextFieldName(); member != null; member = json.nextFieldName()) {
      JsonToken value = json.nextToken();
      switch (member) {
        case "client" -> client = name(json, value, member);
        case "endpoint" -> endpoint = name(json, value, member);
        case "meter" -> meter = name(json, value, member);
        case "id" -> id = name(json, value, member);
        case "ip" -> ip = text(json, value, member);
        case "cost" -> cost = units(json, value, member, 1);
        case "attributes" -> {
          if (value != JsonToken.START_OBJECT) {
            throw new Invalid(Problem.badRequest(member, "must be an object"));
          }
          json.skipChildren();
        }
        default -> json.skipChildren();
      }
    }
    requireWhole(json);
    if (client == null) {
      throw new Invalid(Problem.badRequest("client", "is missing"));
    }
    return new Call(client, endpoint, meter, cost, id, ipPrefix(ip));
  }

  static void requireWhole(JsonParser json) throws Invalid {
    if (json.currentToken() != JsonToken.END_OBJECT) {
      throw new Invalid(Problem.badBody("the body must be a whole JSON object"));
    }
  }

  private static @Nullable String ipPrefix(@Nullable String ip) throws Invalid {
    if (ip == null) {
      return null;
    }
    String prefix = IpPrefix.of(ip);
    if (prefix == null) {
      throw new Invalid(Problem.badRequest("ip", "must be an IPv4 or IPv6 address"));
    }
    return prefix;
  }

  private static String text(JsonParser json, JsonToken value, String member)
      throws IOException, Invalid {
    if (value != JsonToken.VALUE_STRING) {
      throw new Invalid(Problem.badRequest(member, "must be a string"));
    }
    return json.getText();
  }

  static String name(JsonParser json, JsonToken value, String member) throws IOException, Invalid {
    String name = text(json, value, member);
    String violation = Names.violation(name);
    if (violation != null) {
      throw new Invalid(Problem.badRequest(member, violation));
    }
    return name;
  }

  /** An integer from a least one to {@link CallEvent#MAX_QUANTITY}. */
  static long units(JsonParser json, JsonToken value, String member, long min)
      throws IOException, Invalid {
    if (value == JsonToken.VALUE_NUMBER_INT
        && json.getNumberType() != JsonParser.NumberType.BIG_INTEGER
        && json.getLongValue() >= min
        && json.getLongValue() <= CallEvent.MAX_QUANTITY) {
      return json.getLongValue();
    }
    throw new Invalid(
        Problem.badRequest(
            member, "must be an integer from " + min + " to " + CallEvent.MAX_QUANTITY));
  }
}
