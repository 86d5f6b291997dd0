// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.javalin.http.Context;
import io.weir.access.AccessHandler;
import io.weir.ingest.http.JsonBody.Invalid;
import io.weir.ingest.policy.log.PolicyEditor;
import io.weir.ingest.policy.log.PolicyEditor.RefusedException;
import io.weir.ingest.policy.log.PolicyEdits;
import io.weir.ingest.policy.log.PolicyEntry;
import io.weir.ingest.policy.log.PolicyFollower;
import io.weir.ingest.policy.log.PolicyKey;
import io.weir.limits.Names;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import io.weir.topics.problem.Routes;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The common code of the routes for operators: access control, preconditions of changes, and
 * responses to changes. Thread-safe.
 */
final class AdminRoute {
  /** The person who makes a change, in free text. */
  private static final String CHANGED_BY = "Weir-Changed-By";

  private static final Duration TIMEOUT = Duration.ofSeconds(10);
  private static final Duration IN_FORCE_TIMEOUT = Duration.ofSeconds(5);
  private static final String JSON_TYPE = "application/json";

  /** An entity tag (RFC 9110 §8.8.3): the version of an entry. */
  private static final Pattern TAG = Pattern.compile("\"(\\d{1,18})\"");

  static final JsonMapper JSON =
      JsonMapper.builder()
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .build();

  private final PolicyFollower policies;
  private final AdminAccess access;
  private final boolean hasTokens;
  private final Set<String> hosts;

  AdminRoute(CheckApi.PolicyAdmin admin) {
    this.policies = admin.follower();
    this.access = admin.access();
    this.hasTokens = admin.hasTokens();
    this.hosts = admin.hosts();
  }

  interface Handling {
    void handle(Context context) throws Invalid, RefusedException;
  }

  /** Answers a request if an operator sent it. */
  void answer(Context context, Handling handling) {
    Problem problem;
    try {
      requireAccess(context);
      requireJson(context);
      handling.handle(context);
      return;
    } catch (Invalid invalid) {
      problem = invalid.problem();
    } catch (RefusedException refused) {
      problem = problem(refused);
    }
    CheckApi.answer(context, problem);
  }

  private void requireAccess(Context context) throws Invalid {
    if (context.req().getRequestURI().endsWith("/")) {
      throw new Invalid(Routes.CHECK_API.missing(context.req().getRequestURI()));
    }
    if (hasTokens) {
      return; // the request has a token with the required scope, so it comes from no web page
    }
    boolean isOpen = access == AdminAccess.ANY;
    String why =
        isOpen ? OperatorCheck.whyFromAPage(context, hosts) : OperatorCheck.whyNot(context);
    if (why != null) {
      throw new Invalid(
          Problem.of(
              ProblemReason.ADMIN_NOT_ALLOWED,
              (isOpen
                      ? "web pages of other hosts cannot read or change policies: "
                      : "only this machine can read and change policies, unless"
                          + " WEIR_ADMIN=any: ")
                  + why));
    }
  }

  /**
   * Refuses a body with another type than JSON. Without this rule, a web page could send a change
   * without a CORS preflight request.
   */
  private static void requireJson(Context context) throws Invalid {
    if (RequestBody.of(context).length > 0 && !isJson(context.header("Content-Type"))) {
      throw new Invalid(
          Problem.ofField(
              ProblemReason.UNSUPPORTED_MEDIA_TYPE,
              "Content-Type",
              "must be " + JSON_TYPE + " if there is a body"));
    }
  }

  private static boolean isJson(@Nullable String contentType) {
    return contentType != null && contentType.split(";", -1)[0].strip().equalsIgnoreCase(JSON_TYPE);
  }

  private static Problem problem(RefusedException refused) {
    ProblemReason reason =
        switch (refused.reason()) {
          case INVALID -> ProblemReason.INVALID_POLICY;
          case NOT_FOUND -> ProblemReason.POLICY_NOT_FOUND;
          case CHANGED_SINCE -> ProblemReason.CHANGED_SINCE;
          case UNAVAILABLE -> ProblemReason.POLICIES_UNAVAILABLE;
        };
    return Problem.of(reason, String.valueOf(refused.getMessage())).withErrors(refused.problems());
  }

  /** Returns the current entry of a key, and sends the entry's version in the ETag field. */
  PolicyEntry entry(Context context, PolicyKey key) throws Invalid {
    PolicyFollower.InForce inForce = policies.inForce();
    PolicyEntry entry = inForce.state().entry(key);
    if (entry == null || entry.isDeleted()) {
      throw new Invalid(Problem.of(ProblemReason.POLICY_NOT_FOUND, "there is no " + key));
    }
    if (inForce.state().version() > 0) {
      context.header("ETag", tag(entry));
    }
    return entry;
  }

  /**
   * A change and its result.
   *
   * @param entry the entry after the change; null if it no longer exists
   * @param body the members that every response to a change contains
   */
  record Made(@Nullable PolicyEntry entry, ObjectNode body) {}

  /**
   * Makes a change, and waits until the change is in force on this node.
   *
   * @return the result, with the body of the response
   */
  Made make(Context context, PolicyKey key, PolicyEditor.Change change) throws RefusedException {
    PolicyEditor.Outcome outcome = policies.editor().change(changedBy(context), TIMEOUT, change);
    boolean isInForce = policies.awaitVersion(outcome.after().version(), IN_FORCE_TIMEOUT);
    ObjectNode body = JSON.createObjectNode();
    body.put("version", outcome.after().version());
    body.put("changed", outcome.isChange());
    body.put("in_force", isInForce);
    PolicyEntry entry = outcome.after().entry(key);
    PolicyEntry existing = entry == null || entry.isDeleted() ? null : entry;
    if (existing != null) {
      context.header("ETag", tag(existing));
    }
    return new Made(existing, body);
  }

  /** Makes a change. The response contains the change and the changed entry. */
  void change(Context context, PolicyKey key, PolicyEditor.Change change) throws RefusedException {
    Made made = make(context, key, change);
    if (made.entry() != null) {
      made.body().set(key.kind().word(), made.entry().content());
    }
    write(context, made.body());
  }

  private String changedBy(Context context) {
    String named = context.header(CHANGED_BY);
    String from =
        (hasTokens
                ? "token " + AccessHandler.grantOf(context.req()::getAttribute).name() + ", "
                : "")
            + "HTTP from "
            + context.req().getRemoteAddr();
    return named == null || named.isBlank() ? from : named.strip() + " (" + from + ")";
  }

  static String tag(PolicyEntry entry) {
    return '"' + Long.toString(entry.version()) + '"';
  }

  /**
   * Returns the entry's version that the caller has read, according to the request's precondition
   * (RFC 9110 §13.1).
   */
  static long seen(Context context) throws Invalid {
    List<String> match = Collections.list(context.req().getHeaders("If-Match"));
    List<String> noneMatch = Collections.list(context.req().getHeaders("If-None-Match"));
    if (match.size() + noneMatch.size() > 1) {
      throw Invalid.header("If-Match", "and If-None-Match may be given only once");
    }
    if (!noneMatch.isEmpty()) {
      if (!noneMatch.get(0).strip().equals("*")) {
        throw Invalid.header("If-None-Match", "must be *");
      }
      return 0;
    }
    if (match.isEmpty()) {
      return PolicyEdits.ANY_VERSION;
    }
    if (match.get(0).strip().equals("*")) {
      return PolicyEdits.SOME_VERSION;
    }
    Matcher tag = TAG.matcher(match.get(0).strip());
    if (!tag.matches()) {
      throw Invalid.header("If-Match", "must be * or an ETag from an answer, such as \"7\"");
    }
    return Long.parseLong(tag.group(1));
  }

  static String name(Context context) throws Invalid {
    String name = context.pathParam("name");
    String violation = Names.violation(name);
    if (violation != null) {
      throw Invalid.member("name", violation);
    }
    return name;
  }

  static ObjectNode body(Context context) throws Invalid {
    JsonNode tree;
    try {
      tree = JSON.readTree(RequestBody.of(context));
    } catch (JsonProcessingException notJson) {
      throw new Invalid(
          Problem.of(
              ProblemReason.INVALID_BODY, "the body is not JSON: " + notJson.getOriginalMessage()));
    } catch (IOException impossible) {
      throw new UncheckedIOException("reading from memory failed", impossible);
    }
    if (!(tree instanceof ObjectNode object)) {
      throw new Invalid(Problem.of(ProblemReason.INVALID_BODY, "the body must be a JSON object"));
    }
    return object;
  }

  static void write(Context context, JsonNode body) {
    context.contentType(JSON_TYPE);
    context.result(bytes(body));
  }

  private static byte[] bytes(JsonNode body) {
    try {
      return JSON.writeValueAsBytes(body);
    } catch (JsonProcessingException impossible) {
      throw new UncheckedIOException("writing a JSON tree failed", impossible);
    }
  }
}
