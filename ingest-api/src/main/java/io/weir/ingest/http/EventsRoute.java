// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import com.fasterxml.jackson.core.JsonGenerator;
import io.weir.ingest.event.EventRules;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.gate.Usage;
import io.weir.ingest.gate.UsageLog;
import io.weir.ingest.http.JsonBody.Element;
import io.weir.ingest.http.JsonBody.Invalid;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.server.Request;
import org.jspecify.annotations.Nullable;

/**
 * The routes that accept usage events as CloudEvents: {@code POST /v1/usage-events}, and {@code
 * POST /api/v1/events} for producers of OpenMeter. Thread-safe.
 */
final class EventsRoute {
  static final String PATH = "/v1/usage-events";
  static final String OPENMETER_PATH = "/api/v1/events";

  private static final String STRUCTURED = "application/cloudevents+json";
  private static final String BATCH = "application/cloudevents-batch+json";
  private static final String ANY_STRUCTURED = "application/cloudevents";
  private static final String SPEC_VERSION = "ce-specversion";

  /** Maximum number of refused events that a response lists. */
  private static final int MAX_ERRORS = 100;

  private final UsageLog usage;
  private final EventReader reader;

  EventsRoute(UsageLog usage, EventRules rules) {
    this.usage = usage;
    this.reader = new EventReader(rules);
  }

  /** Returns whether a request is a batch of events, to which the bounds of batches apply. */
  static boolean isBatch(Request request) {
    String path = request.getHttpURI().getPath();
    return (PATH.equals(path) || OPENMETER_PATH.equals(path))
        && mediaType(request.getHeaders().get(HttpHeader.CONTENT_TYPE)).equals(BATCH);
  }

  /** Returns a media type in lower case, without parameters; the empty string if there is none. */
  static String mediaType(@Nullable String contentType) {
    return contentType == null ? "" : contentType.split(";", 2)[0].strip().toLowerCase(Locale.ROOT);
  }

  /** Accepts one event, in structured or binary mode; does not block. */
  void one(Exchange exchange) throws Invalid {
    exchange.requireNoParameters();
    HttpFields fields = exchange.request().getHeaders();
    String type = mediaType(fields.get(HttpHeader.CONTENT_TYPE));
    Usage event;
    if (type.equals(STRUCTURED)) {
      event = reader.structured(exchange.body(), usage.nowEpochMillis());
    } else if (!type.startsWith(ANY_STRUCTURED) && fields.contains(SPEC_VERSION)) {
      event = reader.binary(fields, exchange.body(), usage.nowEpochMillis());
    } else {
      throw unsupported(
          STRUCTURED
              + " or "
              + BATCH
              + ", or the media type of the data if the header "
              + SPEC_VERSION
              + " is present");
    }
    List<Element<Usage>> one = List.of(new Element<>(event, null));
    answerLater(exchange, one, taken -> answerOne(exchange, event, taken));
  }

  private static void answerOne(Exchange exchange, Usage event, List<Recorded> taken) {
    Recorded recorded = taken.isEmpty() ? null : taken.get(0);
    if (recorded instanceof Recorded.Durable durable) {
      exchange.fields().put("Usage-Position", durable.position().toString());
    }
    exchange.write(200, CheckResponse.write(json -> writeTaken(json, event, recorded)));
  }

  /**
   * Accepts a batch. The route accepts or refuses each event separately, and records the accepted
   * events together.
   */
  void batch(Exchange exchange) throws Invalid {
    exchange.requireNoParameters();
    List<Element<Usage>> events = reader.batch(exchange.body(), usage.nowEpochMillis());
    answer(
        exchange,
        submit(events).join(),
        taken -> exchange.write(200, results(events, taken.iterator())));
  }

  /** Accepts one event by the rules of OpenMeter; does not block. */
  void openMeterOne(Exchange exchange) throws Invalid {
    exchange.requireNoParameters();
    String type = mediaType(exchange.request().getHeaders().get(HttpHeader.CONTENT_TYPE));
    if (!type.equals(STRUCTURED)) {
      throw unsupported(STRUCTURED + " or " + BATCH);
    }
    Usage event = reader.structured(exchange.body(), usage.nowEpochMillis());
    answerLater(
        exchange,
        List.of(new Element<>(event, null)),
        taken -> exchange.writeEmpty(HttpStatus.NO_CONTENT_204));
  }

  /** Accepts a batch by the rules of OpenMeter: all its events or none. */
  void openMeterBatch(Exchange exchange) throws Invalid {
    exchange.requireNoParameters();
    List<Element<Usage>> events = reader.batch(exchange.body(), usage.nowEpochMillis());
    requireAll(events);
    answer(
        exchange, submit(events).join(), taken -> exchange.writeEmpty(HttpStatus.NO_CONTENT_204));
  }

  private static void requireAll(List<Element<Usage>> events) throws Invalid {
    List<String> errors = new ArrayList<>();
    int refused = 0;
    for (int i = 0; i < events.size(); i++) {
      Problem problem = events.get(i).problem();
      refused += problem == null ? 0 : 1;
      if (problem != null && errors.size() < MAX_ERRORS) {
        errors.add("[" + i + "]: " + problem.detail());
      }
    }
    if (refused > 0) {
      throw new Invalid(
          Problem.of(
                  ProblemReason.INVALID_BODY,
                  refused
                      + " of "
                      + events.size()
                      + " events cannot be counted, so none was accepted; "
                      + errors.get(0))
              .withErrors(errors));
    }
  }

  private CompletableFuture<List<Recorded>> submit(List<Element<Usage>> events) {
    List<Usage> counted = new ArrayList<>(events.size());
    for (Element<Usage> event : events) {
      if (event.value() != null && event.value().quantity() > 0) {
        counted.add(event.value());
      }
    }
    return counted.isEmpty() ? CompletableFuture.completedFuture(List.of()) : usage.submit(counted);
  }

  private void answerLater(
      Exchange exchange, List<Element<Usage>> events, Consumer<List<Recorded>> answering) {
    exchange.answerLater(submit(events), taken -> answer(exchange, taken, answering));
  }

  /**
   * Answers a request after the write of its events. Refuses the request if an event was not
   * recorded.
   *
   * @param answering receives one durable result for each event with a quantity above 0, in order
   */
  private static void answer(
      Exchange exchange, List<Recorded> taken, Consumer<List<Recorded>> answering) {
    for (Recorded each : taken) {
      if (!(each instanceof Recorded.Durable)) {
        // usage events are never dropped, not even with WEIR_WHEN_FULL=drop: the sender must repeat
        // them
        String why =
            each instanceof Recorded.Refused refused ? refused.reason().toString() : "FULL";
        exchange.refuse(
            Problem.of(
                ProblemReason.NOT_RECORDED,
                "the events could not be recorded (" + why + "); send them again"));
        return;
      }
    }
    answering.accept(taken);
  }

  private static byte[] results(List<Element<Usage>> events, Iterator<Recorded> taken) {
    return CheckResponse.writeArray(
        json -> {
          for (Element<Usage> event : events) {
            json.writeStartObject();
            writeResult(json, event, taken);
            json.writeEndObject();
          }
        });
  }

  private static void writeResult(
      JsonGenerator json, Element<Usage> event, Iterator<Recorded> taken) throws IOException {
    Usage value = event.value();
    if (value == null) {
      if (event.problem() != null) {
        event.problem().writeMembers(json);
      }
      return;
    }
    Recorded recorded = value.quantity() == 0 ? null : taken.next();
    json.writeNumberField("status", 200);
    writeTaken(json, value, recorded);
    if (recorded instanceof Recorded.Durable durable) {
      json.writeStringField("usage_position", durable.position().toString());
    }
  }

  private static void writeTaken(JsonGenerator json, Usage event, @Nullable Recorded recorded)
      throws IOException {
    json.writeStringField("id", event.id());
    json.writeStringField("client", event.client());
    json.writeStringField("endpoint", event.endpoint());
    json.writeStringField("meter", event.meter());
    json.writeNumberField("quantity", event.quantity());
    json.writeStringField("happened_at", Instant.ofEpochMilli(event.atEpochMillis()).toString());
    if (recorded instanceof Recorded.Durable durable) {
      json.writeStringField("durability", durable.durability().wireName());
    }
  }

  private static Invalid unsupported(String types) {
    return new Invalid(
        Problem.ofField(ProblemReason.UNSUPPORTED_MEDIA_TYPE, "Content-Type", "must be " + types));
  }
}
