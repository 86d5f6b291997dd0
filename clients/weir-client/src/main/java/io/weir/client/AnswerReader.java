// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.weir.client.Decision.Cause;
import io.weir.client.Transport.Answer;
import java.net.http.HttpHeaders;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads the responses of nodes. Only this class maps status codes to results. This class ignores
 * unknown members; a node can therefore be newer than the client. Thread-safe.
 */
final class AnswerReader {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String RETRY_AFTER = "Retry-After";
  private static final String USAGE_POSITION = "Usage-Position";
  private static final List<String> FIELDS =
      List.of(
          RETRY_AFTER,
          "RateLimit",
          "RateLimit-Policy",
          "RateLimit-Limit",
          "RateLimit-Remaining",
          "RateLimit-Reset",
          "X-RateLimit-Limit",
          "X-RateLimit-Remaining",
          "X-RateLimit-Reset");
  private static final long MILLIS_PER_SECOND = 1_000;

  private AnswerReader() {}

  /** Reads the response to a check. */
  static TryOutcome<Decision> check(Answer answer, String id) {
    return decision(
        answer.statusCode(),
        json(answer),
        fields(answer.headers()),
        answer.headers().firstValue(USAGE_POSITION).orElse(null),
        id);
  }

  /**
   * Reads the response to a batch.
   *
   * @param ids the ids of the calls in the batch, in their order
   * @return one outcome for each call, in the same order
   */
  static TryOutcome<List<TryOutcome<Decision>>> batch(Answer answer, List<String> ids) {
    JsonNode body = json(answer);
    if (answer.statusCode() != 200) {
      return refused(answer.statusCode(), body);
    }
    if (!body.isArray() || body.size() != ids.size()) {
      return new TryOutcome.Failed<>(
          Cause.FAULT, "the response must be an array of " + ids.size() + " elements, but is not");
    }
    List<TryOutcome<Decision>> outcomes = new ArrayList<>();
    for (int i = 0; i < ids.size(); i++) {
      JsonNode element = body.get(i);
      outcomes.add(
          decision(
              element.path("status").asInt(),
              element,
              fields(element),
              text(element, "usage_position"),
              ids.get(i)));
    }
    return new TryOutcome.Answered<>(outcomes);
  }

  private static TryOutcome<Decision> decision(
      int status,
      JsonNode body,
      Map<String, String> fields,
      @Nullable String usagePosition,
      String id) {
    if (isVerdict(status, body)) {
      if (!id.equals(text(body, "id"))) {
        String detail = status + ", but the verdict is on another call";
        return new TryOutcome.Failed<>(status == 429 ? Cause.OVERLOADED : Cause.FAULT, detail);
      }
      Verdict verdict = verdict(body, fields, usagePosition);
      return new TryOutcome.Answered<>(
          body.path("allowed").booleanValue()
              ? new Decision.Allowed(verdict)
              : denied(status, body, verdict));
    }
    if (status == 401 && reason(body).equals("api-key-refused")) {
      return new TryOutcome.Answered<>(new Decision.KeyRefused(id, detail(body)));
    }
    return refused(status, body);
  }

  /** Returns whether a response contains a verdict of the check API. */
  private static boolean isVerdict(int status, JsonNode body) {
    JsonNode allowed = body.path("allowed");
    return allowed.isBoolean()
        && (allowed.booleanValue() ? status == 200 : status == 429 || status == 503);
  }

  private static Decision denied(int status, JsonNode body, Verdict verdict) {
    List<String> violated = new ArrayList<>();
    body.path("violated-policies").forEach(policy -> violated.add(policy.asText()));
    return new Decision.Denied(verdict, status, reason(body), detail(body), violated);
  }

  private static Verdict verdict(
      JsonNode body, Map<String, String> fields, @Nullable String usagePosition) {
    List<PolicyState> limits = new ArrayList<>();
    for (JsonNode limit : body.path("limits")) {
      limits.add(
          new PolicyState(
              limit.path("policy").asText(),
              limit.path("mode").asText(),
              limit.path("limit").asLong(),
              limit.path("remaining").asLong(),
              millis(limit, "reset_ms"),
              limit.path("allowed").asBoolean()));
    }
    return new Verdict(
        body.path("id").asText(),
        body.path("client").asText(),
        body.path("decided_by").asText(),
        text(body, "durability"),
        body.path("policies_version").asLong(),
        millis(body, "retry_after_ms"),
        millis(body, "delay_ms"),
        slot(body),
        limits,
        usagePosition,
        fields);
  }

  /** Returns the slot in a response; null if the response has no slot. */
  private static @Nullable HeldSlot slot(JsonNode body) {
    String token = text(body, "slot");
    return token == null ? null : new HeldSlot(token, millis(body, "slot_expires_ms"));
  }

  /** Reads the response to a settlement. */
  static TryOutcome<Settlement> settlement(Answer answer) {
    int status = answer.statusCode();
    JsonNode body = json(answer);
    boolean isSettlement = body.path("actual_cost").isNumber();
    if (status == 200 && isSettlement) {
      return new TryOutcome.Answered<>(
          new Settlement.Settled(
              body.path("cost").asLong(),
              body.path("actual_cost").asLong(),
              body.path("changed").asBoolean()));
    }
    if (status == 202 && isSettlement) {
      return new TryOutcome.Answered<>(
          new Settlement.Recorded(body.path("cost").asLong(), body.path("actual_cost").asLong()));
    }
    return switch (reason(body)) {
      case "call-not-found",
          "only-denied-try-found",
          "call-denied",
          "settled-before",
          "settlement-refused" ->
          new TryOutcome.Answered<>(new Settlement.Refused(reason(body), detail(body)));
      case "search-budget-spent", "settlement-unavailable" ->
          new TryOutcome.Answered<>(
              new Settlement.Unavailable(reason(body) + ": " + detail(body), wait(answer)));
      default -> refused(status, body);
    };
  }

  /** Reads the response to the renewal of a slot. */
  static TryOutcome<SlotRenewal> renewal(Answer answer) {
    JsonNode body = json(answer);
    HeldSlot slot = slot(body);
    if (answer.statusCode() == 200 && slot != null) {
      return new TryOutcome.Answered<>(new SlotRenewal.Renewed(slot));
    }
    return switch (reason(body)) {
      case "slot-ended" -> new TryOutcome.Answered<>(new SlotRenewal.Ended(detail(body)));
      case "slots-unavailable" ->
          new TryOutcome.Answered<>(new SlotRenewal.Unavailable(detail(body)));
      default -> refused(answer.statusCode(), body);
    };
  }

  /** Reads the response to the release of a slot. */
  static TryOutcome<SlotRelease> release(Answer answer) {
    JsonNode body = json(answer);
    if (answer.statusCode() == 200 && body.path("released").isBoolean()) {
      return new TryOutcome.Answered<>(
          body.path("released").booleanValue() ? SlotRelease.RELEASED : SlotRelease.ALREADY_FREE);
    }
    return reason(body).equals("slots-unavailable")
        ? new TryOutcome.Answered<>(SlotRelease.UNAVAILABLE)
        : refused(answer.statusCode(), body);
  }

  /** Maps a response that has the same meaning on every route. */
  private static <T> TryOutcome<T> refused(int status, JsonNode body) {
    String detail = status + " " + reason(body) + ": " + detail(body);
    if (status == 429) {
      // not a verdict of Weir: a proxy in front of the node has limited the request
      return new TryOutcome.Failed<>(Cause.OVERLOADED, detail);
    }
    if (status == 408 || status < 400 || status >= 500) {
      return new TryOutcome.Failed<>(
          switch (reason(body)) {
            case "overloaded" -> Cause.OVERLOADED;
            case "not-recorded" -> Cause.NOT_RECORDED;
            default -> Cause.FAULT;
          },
          detail);
    }
    return new TryOutcome.Wrong<>(
        new WeirRequestException(status, reason(body), text(body, "field"), detail(body)));
  }

  /**
   * Returns the body as JSON. Returns a {@link MissingNode} if the body is not JSON, for example
   * the body of a proxy's response.
   */
  private static JsonNode json(Answer answer) {
    try {
      return JSON.readTree(answer.body());
    } catch (JsonProcessingException notWeir) {
      return MissingNode.getInstance();
    }
  }

  private static String reason(JsonNode body) {
    return body.path("reason").asText("unknown");
  }

  private static String detail(JsonNode body) {
    return body.path("detail").asText("the response has no detail");
  }

  private static @Nullable String text(JsonNode body, String member) {
    JsonNode value = body.path(member);
    return value.isTextual() ? value.textValue() : null;
  }

  private static Duration millis(JsonNode body, String member) {
    return Duration.ofMillis(body.path(member).asLong());
  }

  private static Duration wait(Answer answer) {
    return Duration.ofSeconds(answer.headers().firstValueAsLong(RETRY_AFTER).orElse(1));
  }

  /** Returns the header fields that describe limits, by name. */
  private static Map<String, String> fields(HttpHeaders headers) {
    Map<String, String> fields = new HashMap<>();
    for (String name : FIELDS) {
      List<String> values = headers.allValues(name);
      if (!values.isEmpty()) {
        fields.put(name, String.join(", ", values));
      }
    }
    return fields;
  }

  /**
   * Returns the header field {@code Retry-After} for an element of a batch. The value is in
   * seconds, rounded up.
   */
  private static Map<String, String> fields(JsonNode element) {
    long waitMillis = element.path("retry_after_ms").asLong();
    return waitMillis == 0
        ? Map.of()
        : Map.of(RETRY_AFTER, Long.toString(Math.floorDiv(waitMillis - 1, MILLIS_PER_SECOND) + 1));
  }
}
