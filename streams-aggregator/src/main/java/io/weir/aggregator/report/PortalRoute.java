// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.javalin.http.Context;
import io.weir.access.Access;
import io.weir.access.PortalTokens;
import io.weir.limits.Names;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import java.io.IOException;
import java.time.Clock;
import java.time.DateTimeException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * The route that issues portal tokens. With a portal token, a web page can read the usage of one
 * customer for a limited time. Thread-safe.
 */
final class PortalRoute {
  static final String PATH = "/v1/portal-tokens";

  private static final Duration DEFAULT_VALIDITY = Duration.ofHours(1);
  private static final int MAX_CLIENTS = 100;

  /**
   * Maximum size of a body in bytes. This size is sufficient for the maximum number of names of
   * maximum length.
   */
  private static final int MAX_BYTES = 256 * 1024;

  private static final Set<String> MEMBERS = Set.of("clients", "expires_in");

  private static final JsonMapper JSON =
      JsonMapper.builder()
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .build();

  private final Access access;
  private final Clock clock;

  PortalRoute(Access access, Clock clock) {
    this.access = access;
    this.clock = clock;
  }

  /** Sends a response with status 201, a token and its expiry time. */
  void create(Context ctx) {
    PortalTokens tokens =
        access
            .portal()
            .orElseThrow(
                () ->
                    new ProblemException(
                        ProblemReason.NO_SUCH_ROUTE,
                        PATH
                            + ": this route needs WEIR_PORTAL_KEY_FILE, which is not set on this aggregator"));
    JsonNode body = body(ctx);
    body.fieldNames()
        .forEachRemaining(
            member -> {
              if (!MEMBERS.contains(member)) {
                throw refused(
                    ProblemReason.UNKNOWN_MEMBER,
                    member,
                    "is not a known member; known members are " + new TreeSet<>(MEMBERS));
              }
            });
    Duration validity = validity(body.path("expires_in"));
    String token = tokens.issue(clients(body.path("clients")), validity);
    Map<String, Object> answer = new LinkedHashMap<>();
    answer.put("token", token);
    answer.put("expires_at", clock.instant().plus(validity).toString());
    ReportServer.send(ctx, Answer.json(201, answer));
  }

  private static JsonNode body(Context ctx) {
    try {
      JsonNode body = JSON.readTree(ctx.req().getInputStream().readNBytes(MAX_BYTES));
      if (body != null && body.isObject()) {
        return body;
      }
      throw new ProblemException(ProblemReason.INVALID_BODY, "the body must be a JSON object");
    } catch (JsonProcessingException notJson) {
      throw new ProblemException(
          ProblemReason.INVALID_BODY, "the body is not JSON: " + notJson.getOriginalMessage());
    } catch (IOException unreadable) {
      throw new ProblemException(
          Problem.malformed(400, "the body could not be read: " + unreadable.getMessage()));
    }
  }

  private static Set<String> clients(JsonNode value) {
    Set<String> clients = new TreeSet<>();
    if (!value.isArray() || value.isEmpty() || value.size() > MAX_CLIENTS) {
      throw refused(
          ProblemReason.INVALID_MEMBER,
          "clients",
          "must be a list of 1 to " + MAX_CLIENTS + " names");
    }
    for (JsonNode each : value) {
      String violation = each.isTextual() ? Names.violation(each.textValue()) : "must be text";
      if (violation != null) {
        throw refused(ProblemReason.INVALID_MEMBER, "clients", violation);
      }
      clients.add(each.textValue());
    }
    return clients;
  }

  private static Duration validity(JsonNode value) {
    if (value.isMissingNode()) {
      return DEFAULT_VALIDITY;
    }
    try {
      Duration validity = Duration.parse(value.asText());
      if (validity.toSeconds() >= 1 && validity.compareTo(PortalTokens.MAX_VALIDITY) <= 0) {
        return validity;
      }
    } catch (DateTimeException notADuration) {
      // refused below
    }
    throw refused(
        ProblemReason.INVALID_MEMBER,
        "expires_in",
        "must be an ISO 8601 duration from PT1S to " + PortalTokens.MAX_VALIDITY);
  }

  private static ProblemException refused(ProblemReason reason, String field, String rule) {
    return new ProblemException(Problem.ofField(reason, field, rule));
  }
}
