// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.util.JsonFormat;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/**
 * Reads requests and writes responses in the JSON format of Protocol Buffers. Requests may use
 * camel case or the original field names, and numbers or strings for 64-bit numbers. Stateless and
 * thread-safe.
 */
final class RateLimitJson {
  private static final int MAX_NESTING = 32;

  private static final ObjectMapper JSON =
      new ObjectMapper(
              JsonFactory.builder()
                  .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                  .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
                  .streamReadConstraints(
                      StreamReadConstraints.builder().maxNestingDepth(MAX_NESTING).build())
                  .build())
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

  private RateLimitJson() {}

  /**
   * Reads a request.
   *
   * @param ignoresUnknown whether unknown members are ignored
   * @throws InvalidRequestException if the body is not a valid request
   */
  static RateLimitRequest read(byte[] body, boolean ignoresUnknown) throws InvalidRequestException {
    JsonNode tree;
    try {
      tree = JSON.readTree(body);
    } catch (JsonProcessingException malformed) {
      throw new InvalidRequestException(
          "", "the body is not JSON: " + malformed.getOriginalMessage());
    } catch (IOException notText) {
      throw new InvalidRequestException("", "the body is not UTF-8");
    }
    if (!(tree instanceof ObjectNode request)) {
      throw new InvalidRequestException("", "the body must be one JSON object");
    }
    removeNegativeHits(request);
    JsonFormat.Parser parser = JsonFormat.parser();
    RateLimitRequest.Builder read = RateLimitRequest.newBuilder();
    try {
      (ignoresUnknown ? parser.ignoringUnknownFields() : parser).merge(request.toString(), read);
    } catch (InvalidProtocolBufferException invalid) {
      throw new InvalidRequestException(
          "", "the body is not a RateLimitRequest: " + invalid.getMessage());
    }
    return read.build();
  }

  /**
   * Removes the member for negative hits, which the message classes of this build do not contain
   * yet. Refuses the request if the value is not false, because Weir must not ignore negative hits.
   */
  private static void removeNegativeHits(ObjectNode request) throws InvalidRequestException {
    int index = 0;
    for (JsonNode descriptor : request.path("descriptors")) {
      if (descriptor instanceof ObjectNode members) {
        for (String name : new String[] {"isNegativeHits", "is_negative_hits"}) {
          JsonNode value = members.remove(name);
          if (value != null && !value.isNull() && !(value.isBoolean() && !value.booleanValue())) {
            throw DescriptorReader.negativeHits("descriptors[" + index + "]");
          }
        }
      }
      index++;
    }
  }

  /** Returns a response in JSON. */
  static byte[] write(RateLimitResponse response) {
    try {
      return JsonFormat.printer()
          .omittingInsignificantWhitespace()
          .print(response)
          .getBytes(StandardCharsets.UTF_8);
    } catch (InvalidProtocolBufferException impossible) {
      throw new IllegalStateException(
          "the response contains a message of an unknown type", impossible);
    }
  }
}
