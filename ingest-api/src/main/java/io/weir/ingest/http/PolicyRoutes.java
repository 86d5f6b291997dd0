// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.javalin.config.JavalinConfig;
import io.javalin.http.Context;
import io.weir.ingest.policy.log.PolicyEditor;
import io.weir.ingest.policy.log.PolicyEditor.RefusedException;
import io.weir.ingest.policy.log.PolicyEdits;
import io.weir.ingest.policy.log.PolicyEntry;
import io.weir.ingest.policy.log.PolicyFollower;
import io.weir.ingest.policy.log.PolicyKey;
import io.weir.ingest.policy.log.PolicyState;
import io.weir.limits.Names;
import io.weir.limits.policy.PolicyMode;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import io.weir.topics.problem.Routes;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The routes by which operators read and change policies, what is set for clients, and the switch
 * of all policies. A change is answered when it is in force on this node; the others follow within
 * a second. Thread-safe.
 */
final class PolicyRoutes {
  static final String POLICIES = "/v1/policies";
  static final String POLICY = POLICIES + "/<name>";
  static final String CLIENT = "/v1/clients/<name>";
  static final String PLAN = "/v1/plans/<name>";
  static final String SETTING = "/v1/settings/<name>";
  static final String SWITCH = "/v1/switches/enforcement";

  /** Who changes something, in their own words. */
  private static final String CHANGED_BY = "Weir-Changed-By";

  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final Duration IN_FORCE_PATIENCE = Duration.ofSeconds(5);
  private static final String JSON_TYPE = "application/json";

  /** An entity tag (RFC 9110 §8.8.3): the version of an entry. */
  private static final Pattern TAG = Pattern.compile("\"(\\d{1,18})\"");

  private static final JsonMapper JSON =
      JsonMapper.builder()
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .build();

  private static final List<String> OF_PROXIES =
      List.of("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via");

  private static final Pattern THIS_MACHINE =
      Pattern.compile(
          "(localhost\\.?|127(\\.\\d{1,3}){3}|\\[(::1|(0:){7}1|::ffff:127(\\.\\d{1,3}){3})])(:\\d{1,5})?",
          Pattern.CASE_INSENSITIVE);

  private final PolicyFollower policies;
  private final AdminAccess access;

  PolicyRoutes(CheckApi.PolicyAdmin admin) {
    this.policies = admin.follower();
    this.access = admin.access();
  }

  /** Signals what is answered instead. */
  private static final class Refused extends Exception {
    private static final long serialVersionUID = 1L;

    private final transient Problem problem;

    Refused(Problem problem) {
      super(problem.detail(), null, false, false);
      this.problem = problem;
    }
  }

  private interface Handling {
    void handle(Context context) throws Refused, RefusedException;
  }

  void register(JavalinConfig config) {
    config.routes.get(POLICIES, context -> answer(context, this::list));
    config.routes.put(POLICY, context -> answer(context, this::putPolicy));
    register(config, POLICY, PolicyKey.Kind.POLICY);
    register(config, PLAN, PolicyKey.Kind.PLAN);
    register(config, CLIENT, PolicyKey.Kind.CLIENT);
    register(config, SETTING, PolicyKey.Kind.SETTING);
    config.routes.get(SWITCH, context -> answer(context, this::getSwitch));
    config.routes.put(SWITCH, context -> answer(context, this::putSwitch));
  }

  /** Registers the routes that are alike for every kind. */
  private void register(JavalinConfig config, String path, PolicyKey.Kind kind) {
    config.routes.get(
        path, context -> answer(context, each -> get(each, new PolicyKey(kind, name(each)))));
    if (kind != PolicyKey.Kind.POLICY) {
      config.routes.put(
          path,
          context ->
              answer(context, each -> put(each, new PolicyKey(kind, name(each)), body(each))));
    }
    config.routes.delete(
        path, context -> answer(context, each -> delete(each, new PolicyKey(kind, name(each)))));
  }

  private void put(Context context, PolicyKey key, ObjectNode content)
      throws Refused, RefusedException {
    change(context, key, PolicyEdits.put(key, content, seen(context)));
  }

  private void delete(Context context, PolicyKey key) throws Refused, RefusedException {
    change(context, key, PolicyEdits.delete(key, seen(context)));
  }

  private void answer(Context context, Handling handling) {
    Problem problem;
    try {
      requireAccess(context);
      handling.handle(context);
      return;
    } catch (Refused refused) {
      problem = refused.problem;
    } catch (RefusedException refused) {
      problem = problem(refused);
    }
    CheckApi.answer(context, problem);
  }

  private void requireAccess(Context context) throws Refused {
    if (context.req().getRequestURI().endsWith("/")) {
      throw new Refused(Routes.CHECK_API.missing(context.req().getRequestURI()));
    }
    if (access != AdminAccess.LOOPBACK) {
      return;
    }
    String from = context.req().getRemoteAddr();
    String why = isLoopback(from) ? whyNotOfAnOperator(context) : "it came from " + from;
    if (why != null) {
      throw new Refused(
          Problem.of(
              ProblemReason.ADMIN_NOT_ALLOWED,
              "policies are read and changed from this machine only, unless WEIR_ADMIN=any, and "
                  + why));
    }
  }

  /**
   * Returns why a request of this machine may be somebody else's: a proxy has passed it on, or a
   * web page has sent it (DNS rebinding); null if it is an operator's.
   */
  private static @Nullable String whyNotOfAnOperator(Context context) {
    for (String field : OF_PROXIES) {
      if (context.header(field) != null) {
        return "the request has the field " + field + ", which proxies add";
      }
    }
    String host = context.header("Host");
    if (host != null && !isOfThisMachine(host)) {
      return "the request is for the host " + host;
    }
    String origin = context.header("Origin");
    return origin != null && !isOfThisMachine(origin.replaceFirst("^[a-z]+://", ""))
        ? "a web page of " + origin + " has sent it"
        : null;
  }

  private static boolean isOfThisMachine(String hostAndPort) {
    return THIS_MACHINE.matcher(hostAndPort).matches();
  }

  private static boolean isLoopback(String address) {
    try {
      // an address in digits is not looked up
      return InetAddress.getByName(address).isLoopbackAddress();
    } catch (UnknownHostException unknown) {
      return false;
    }
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

  private void list(Context context) {
    PolicyFollower.InForce inForce = policies.inForce();
    PolicyState state = inForce.state();
    ObjectNode body = JSON.createObjectNode();
    body.put("version", state.version());
    body.put("source", inForce.source().word());
    body.put("problem", policies.problem());
    body.put("enforcement", word(state.enforcement()));
    ArrayNode list = body.putArray("policies");
    state.policyEntries().forEach(entry -> list.add(shown(entry)));
    ArrayNode plans = body.putArray("plans");
    for (PolicyEntry entry : state.entries()) {
      if (entry.key().kind() == PolicyKey.Kind.PLAN && !entry.isDeleted()) {
        plans.add(shown(entry).put("name", entry.key().name()));
      }
    }
    body.put("default_plan", inForce.set().clients().defaultPlan());
    body.put("unknown_clients", word(inForce.set().clients().unknown()));
    body.put("unmatched_calls", word(inForce.set().unmatchedCalls()));
    body.put("clients", state.clientEntries().size());
    write(context, body);
  }

  private void putPolicy(Context context) throws Refused, RefusedException {
    String name = name(context);
    ObjectNode policy = body(context);
    if (!policy.has("name")) {
      policy.put("name", name);
    }
    put(context, PolicyKey.ofPolicy(name), policy);
  }

  private void getSwitch(Context context) {
    ObjectNode body = JSON.createObjectNode();
    body.put("mode", word(policies.inForce().state().enforcement()));
    PolicyState state = policies.inForce().state();
    body.put("version", state.version());
    PolicyEntry entry = state.entry(PolicyKey.ENFORCEMENT);
    if (entry != null) {
      context.header("ETag", tag(entry));
    }
    write(context, body);
  }

  private void putSwitch(Context context) throws Refused, RefusedException {
    JsonNode mode = body(context).path("mode");
    for (PolicyMode known : PolicyMode.values()) {
      if (mode.isTextual() && mode.textValue().equals(word(known))) {
        change(context, PolicyKey.ENFORCEMENT, PolicyEdits.enforcement(known, seen(context)));
        return;
      }
    }
    throw new Refused(
        Problem.ofField(
            ProblemReason.INVALID_MEMBER, "mode", "must be one of enforce, shadow, off"));
  }

  private void get(Context context, PolicyKey key) throws Refused {
    PolicyEntry entry = policies.inForce().state().entry(key);
    if (entry == null || entry.isDeleted()) {
      throw new Refused(Problem.of(ProblemReason.POLICY_NOT_FOUND, "there is no " + key));
    }
    if (policies.inForce().state().version() > 0) {
      context.header("ETag", tag(entry));
    }
    write(context, shown(entry));
  }

  private void change(Context context, PolicyKey key, PolicyEditor.Change change)
      throws RefusedException {
    PolicyEditor.Outcome outcome = policies.editor().change(changedBy(context), PATIENCE, change);
    boolean isInForce = policies.awaitVersion(outcome.after().version(), IN_FORCE_PATIENCE);
    ObjectNode body = JSON.createObjectNode();
    body.put("version", outcome.after().version());
    body.put("changed", outcome.isChange());
    body.put("in_force", isInForce);
    PolicyEntry entry = outcome.after().entry(key);
    if (entry != null && !entry.isDeleted()) {
      context.header("ETag", tag(entry));
      body.set(key.kind().word(), entry.content());
    }
    write(context, body);
  }

  private static String changedBy(Context context) {
    String told = context.header(CHANGED_BY);
    String from = "HTTP from " + context.req().getRemoteAddr();
    return told == null || told.isBlank() ? from : told.strip() + " (" + from + ")";
  }

  private static ObjectNode shown(PolicyEntry entry) {
    ObjectNode shown = JSON.createObjectNode();
    shown.put("version", entry.version());
    shown.put("changed_at", Instant.ofEpochMilli(entry.changedAtEpochMillis()).toString());
    shown.put("changed_by", entry.changedBy());
    shown.set(entry.key().kind().word(), entry.content());
    return shown;
  }

  private static String tag(PolicyEntry entry) {
    return '"' + Long.toString(entry.version()) + '"';
  }

  /** Returns which version of the entry the caller has seen (RFC 9110 §13.1). */
  private static long seen(Context context) throws Refused {
    List<String> match = Collections.list(context.req().getHeaders("If-Match"));
    List<String> noneMatch = Collections.list(context.req().getHeaders("If-None-Match"));
    if (match.size() + noneMatch.size() > 1) {
      throw new Refused(
          Problem.ofField(
              ProblemReason.INVALID_HEADER, "If-Match", "and If-None-Match may be given once"));
    }
    if (!noneMatch.isEmpty()) {
      if (!noneMatch.get(0).strip().equals("*")) {
        throw new Refused(
            Problem.ofField(ProblemReason.INVALID_HEADER, "If-None-Match", "must be *"));
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
      throw new Refused(
          Problem.ofField(
              ProblemReason.INVALID_HEADER,
              "If-Match",
              "must be * or one ETag of an answer, such as \"7\""));
    }
    return Long.parseLong(tag.group(1));
  }

  private static String name(Context context) throws Refused {
    String name = context.pathParam("name");
    String violation = Names.violation(name);
    if (violation != null) {
      throw new Refused(Problem.ofField(ProblemReason.INVALID_MEMBER, "name", violation));
    }
    return name;
  }

  private static ObjectNode body(Context context) throws Refused {
    JsonNode tree;
    try {
      tree = JSON.readTree(RequestBody.of(context));
    } catch (JsonProcessingException notJson) {
      throw new Refused(
          Problem.of(
              ProblemReason.INVALID_BODY, "the body is not JSON: " + notJson.getOriginalMessage()));
    } catch (IOException impossible) {
      throw new UncheckedIOException("memory does not fail to be read", impossible);
    }
    if (!(tree instanceof ObjectNode object)) {
      throw new Refused(Problem.of(ProblemReason.INVALID_BODY, "the body must be a JSON object"));
    }
    return object;
  }

  private static void write(Context context, JsonNode body) {
    context.contentType(JSON_TYPE);
    context.result(bytes(body));
  }

  private static byte[] bytes(JsonNode body) {
    try {
      return JSON.writeValueAsBytes(body);
    } catch (JsonProcessingException impossible) {
      throw new UncheckedIOException("a tree cannot be written", impossible);
    }
  }

  private static String word(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }
}
