// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.util.TokenBuffer;
import io.cloudevents.CloudEvent;
import io.cloudevents.CloudEventData;
import io.cloudevents.http.HttpMessageFactory;
import io.cloudevents.jackson.JsonCloudEventData;
import io.cloudevents.jackson.JsonFormat;
import io.cloudevents.rw.CloudEventRWException;
import io.weir.ingest.event.EventRules;
import io.weir.ingest.event.RefusedEventException;
import io.weir.ingest.gate.CallLog;
import io.weir.ingest.gate.Usage;
import io.weir.ingest.http.JsonBody.Invalid;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.http.HttpFields;
import org.jspecify.annotations.Nullable;

/**
 * Reads the usage from CloudEvents 1.0, in the three modes of the HTTP binding, with the CNCF's
 * SDK. Thread-safe.
 */
final class EventReader {
  private static final String ATTRIBUTE = "ce-";
  private static final String CONTENT_TYPE = "content-type";
  private static final int LAST_ASCII = 0x7e;

  private static final JsonMapper JSON =
      JsonMapper.builder()
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .addModule(JsonFormat.getCloudEventJacksonModule())
          .build();

  private final EventRules rules;

  EventReader(EventRules rules) {
    this.rules = rules;
  }

  /** Reads an event in the JSON format. */
  Usage structured(byte[] body, long nowEpochMillis) throws Invalid {
    return JsonBody.read(body, json -> usage(json, nowEpochMillis));
  }

  /** Reads events in the JSON batch format; a batch may be empty. */
  List<JsonBody.Element<Usage>> batch(byte[] body, long nowEpochMillis) throws Invalid {
    return JsonBody.readArray(body, 0, CallLog.MAX_CALLS, json -> usage(json, nowEpochMillis));
  }

  private Usage usage(JsonParser json, long nowEpochMillis) throws IOException, Invalid {
    JsonNode tree = tree(json);
    CloudEvent event;
    try {
      event = JSON.treeToValue(tree, CloudEvent.class);
    } catch (JsonProcessingException refused) {
      throw notAnEvent(refused.getOriginalMessage());
    } catch (CloudEventRWException | IllegalArgumentException refused) {
      throw notAnEvent(refused.getMessage());
    }
    return usage(event, nowEpochMillis);
  }

  /** Returns the object at the parser's position, and moves the parser to the end of the object. */
  private static JsonNode tree(JsonParser json) throws IOException {
    try (TokenBuffer tokens = new TokenBuffer(json, null)) {
      tokens.copyCurrentStructure(json);
      try (JsonParser again = tokens.asParserOnFirstToken()) {
        again.setCodec(JSON);
        return JSON.readTree(again);
      }
    }
  }

  /**
   * Reads an event in the binary mode: the attributes are header fields, and the body is the data.
   */
  Usage binary(HttpFields fields, byte[] body, long nowEpochMillis) throws Invalid {
    requireReadable(fields);
    CloudEvent event;
    try {
      event =
          HttpMessageFactory.createReader(
                  each -> fields.forEach(field -> each.accept(field.getName(), value(field))), body)
              .toEvent();
    } catch (CloudEventRWException | IllegalArgumentException | IllegalStateException refused) {
      throw notAnEvent(refused.getMessage());
    }
    return usage(event, nowEpochMillis);
  }

  private static String value(HttpField field) {
    String value = field.getValue();
    return value == null ? "" : value;
  }

  /** Refuses attributes that are ambiguous: another reader could interpret them differently. */
  private static void requireReadable(HttpFields fields) throws Invalid {
    Set<String> seen = new HashSet<>();
    for (HttpField field : fields) {
      String name = field.getName().toLowerCase(Locale.ROOT);
      if (!name.startsWith(ATTRIBUTE) && !name.equals(CONTENT_TYPE)) {
        continue;
      }
      if (!seen.add(name)) {
        throw header(name, "must be given once");
      }
      if (value(field).chars().anyMatch(c -> c > LAST_ASCII)) {
        throw header(name, "must be ASCII; send an event with other characters as JSON");
      }
    }
  }

  private static Invalid header(String name, String rule) {
    return new Invalid(Problem.ofField(ProblemReason.INVALID_HEADER, JsonBody.shown(name), rule));
  }

  private Usage usage(CloudEvent event, long nowEpochMillis) throws Invalid {
    try {
      return rules.usage(event, () -> json(event), nowEpochMillis);
    } catch (RefusedEventException refused) {
      throw Invalid.member(refused.field(), refused.rule());
    }
  }

  private static @Nullable JsonNode json(CloudEvent event) {
    CloudEventData data = event.getData();
    if (data instanceof JsonCloudEventData json) {
      return json.getNode();
    }
    if (data == null || !isJson(event.getDataContentType())) {
      return null;
    }
    try {
      return JsonBody.read(data.toBytes(), EventReader::tree);
    } catch (Invalid notAnObject) {
      return null;
    }
  }

  private static boolean isJson(@Nullable String contentType) {
    if (contentType == null) {
      return true;
    }
    String type = EventsRoute.mediaType(contentType);
    return type.equals("application/json") || type.endsWith("+json");
  }

  private static Invalid notAnEvent(@Nullable String why) {
    // the library's message may repeat received text
    String shown =
        String.valueOf(why).replaceAll("[\\p{Cntrl}\\p{Cs}]+", " ").replaceAll("\\s+", " ");
    return new Invalid(
        Problem.of(
            ProblemReason.INVALID_BODY,
            "the event is not one of CloudEvents 1.0: " + JsonBody.shown(shown)));
  }
}
