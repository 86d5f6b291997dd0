// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.limits.ClientCalendar;
import io.weir.limits.LimitAlgorithm;
import io.weir.limits.Numbers;
import io.weir.limits.PolicyLimit;
import io.weir.limits.policy.CacheFailureMode;
import io.weir.limits.policy.ClientSettings;
import io.weir.limits.policy.Clients;
import io.weir.limits.policy.ColdCacheMode;
import io.weir.limits.policy.DefaultVerdict;
import io.weir.limits.policy.IpPrefix;
import io.weir.limits.policy.KeyPart;
import io.weir.limits.policy.LeaseTerms;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMatch;
import io.weir.limits.policy.PolicyMatcher;
import io.weir.limits.policy.PolicyMode;
import io.weir.limits.policy.PolicySet;
import io.weir.limits.policy.UnknownClients;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Converts a parsed policy file to policies, and collects every problem. For one use. */
final class PolicyReader {
  private static final Set<String> POLICY_FIELDS =
      Set.of(
          "name",
          "match",
          "key",
          "ip_prefix",
          "limit",
          "mode",
          "on_cache_failure",
          "on_cold_cache",
          "debt_cap",
          "lease",
          "replaces",
          PolicyFile.EFFECTIVE_FROM);

  private static final Set<String> CLIENT_FIELDS =
      Set.of("plan", "limits", "time_zone", "billing_anchor", "api_keys");

  private static final Set<String> FILE_FIELDS =
      Set.of(
          "version",
          "policies",
          "clients",
          "plans",
          "default_plan",
          "unknown_clients",
          "unmatched_calls");

  /**
   * Policy names that are reserved for default verdicts. The value describes the calls to which the
   * verdict applies.
   */
  private static final Map<String, String> RESERVED_NAMES =
      Map.of(
          PolicyMatcher.UNKNOWN_CLIENTS.name(), "calls of unknown clients",
          PolicyMatcher.UNMATCHED_CALLS.name(), "calls that no policy matches");

  private final boolean isWhole;
  private final FieldReader fields = new FieldReader();
  private final LimitReader limits = new LimitReader(fields);
  private final MatchReader matches = new MatchReader(fields);
  private final LeaseReader leases = new LeaseReader(fields);
  private final ApiKeyReader apiKeys = new ApiKeyReader(fields);

  /**
   * Creates a reader.
   *
   * @param isWhole whether the content is a complete file; if true, references may refer only to
   *     this content
   */
  PolicyReader(boolean isWhole) {
    this.isWhole = isWhole;
  }

  List<String> problems() {
    return fields.problems();
  }

  PolicySet read(JsonNode root) {
    if (root.isMissingNode() || root.isNull()) {
      fields.problem(
          "the file is empty; it must contain a list 'policies', which may be empty " + "([])");
      return PolicySet.EMPTY;
    }
    if (!root.isObject()) {
      fields.problem("the file must contain a mapping with a list 'policies'");
      return PolicySet.EMPTY;
    }
    fields.refuseUnknown(root, "", FILE_FIELDS);
    long version = root.has("version") ? fields.integer(root, "", "version", 0, Long.MAX_VALUE) : 1;
    List<Policy> policies = policies(root.path("policies"));
    Clients clients =
        new Clients(
            settings(root.path("clients")),
            plans(root.path("plans")),
            root.has("default_plan") ? fields.name(root, "", "default_plan") : null,
            setting(root, "unknown_clients", UnknownClients.class, UnknownClients.ALLOW));
    DefaultVerdict unmatched =
        setting(root, "unmatched_calls", DefaultVerdict.class, DefaultVerdict.ALLOW);
    if (fields.count() == 0 && isWhole) {
      PolicyReferences.problems(policies, clients).forEach(fields::problem);
    }
    return fields.count() > 0
        ? PolicySet.EMPTY
        : new PolicySet(version, policies, clients, unmatched);
  }

  private <E extends Enum<E>> E setting(JsonNode root, String field, Class<E> type, E absent) {
    E value = fields.choice(root, "", field, type, absent);
    return value == null ? absent : value;
  }

  private List<Policy> policies(JsonNode list) {
    List<Policy> policies = new ArrayList<>();
    if (!list.isArray()) {
      fields.problem("policies must be a list");
      return policies;
    }
    if (list.size() > PolicySet.MAX_POLICIES) {
      fields.problem(
          "policies must have at most %s elements, but has %s"
              .formatted(PolicySet.MAX_POLICIES, list.size()));
      return policies;
    }
    Set<String> names = new HashSet<>();
    for (int i = 0; i < list.size(); i++) {
      Policy policy = policy(list.get(i), "policies[" + i + "]");
      if (policy != null) {
        policies.add(policy);
      }
      // the name counts as used even if the policy has another problem
      JsonNode name = list.get(i).path("name");
      if (name.isTextual() && !names.add(name.textValue())) {
        fields.problem(
            "policies[" + i + "].name '" + Shown.cut(name.textValue()) + "' is used twice");
      }
    }
    return policies;
  }

  private @Nullable Policy policy(JsonNode node, String path) {
    int problemsBefore = fields.count();
    if (!node.isObject()) {
      fields.problem(path + " must be a mapping");
      return null;
    }
    fields.refuseUnknown(node, path, POLICY_FIELDS);
    String name = fields.name(node, path, "name");
    String reserved = RESERVED_NAMES.get(name);
    if (reserved != null) {
      fields.problem(path + ".name '" + name + "' is reserved for " + reserved);
    }
    PolicyMatch match = matches.match(node.path("match"), path + ".match");
    List<KeyPart> key = matches.key(node.path("key"), path + ".key");
    IpPrefix ipPrefix = matches.ipPrefix(node.path("ip_prefix"), path + ".ip_prefix", key);
    PolicyLimit limit = limits.read(node.path("limit"), path + ".limit");
    PolicyMode mode = fields.choice(node, path, "mode", PolicyMode.class, PolicyMode.ENFORCE);
    CacheFailureMode failure =
        fields.choice(
            node, path, "on_cache_failure", CacheFailureMode.class, CacheFailureMode.LOCAL);
    ColdCacheMode cold =
        fields.choice(node, path, "on_cold_cache", ColdCacheMode.class, ColdCacheMode.ALLOW);
    LimitAlgorithm algorithm = LimitReader.algorithmOf(node.path("limit"));
    if (cold == ColdCacheMode.HOLD && algorithm == LimitAlgorithm.TOKEN_BUCKET) {
      fields.problem(
          path
              + ".on_cold_cache: hold requires a quota or window; the loss of a token bucket "
              + "admits at most one extra capacity");
    }
    if (failure != CacheFailureMode.LOCAL && limit != null && limit.capacityTokens() == 0) {
      fields.problem(
          path
              + ".on_cache_failure must be omitted with algorithm deny, which does "
              + "not need Redis");
    }
    if (node.has("debt_cap") && algorithm != null && algorithm != LimitAlgorithm.TOKEN_BUCKET) {
      fields.problem(
          path
              + ".debt_cap requires a token bucket; a quota or window counts all usage until its "
              + "period ends");
    }
    long debtCap =
        node.has("debt_cap") ? fields.integer(node, path, "debt_cap", 0, Numbers.MAX) : -1;
    LeaseTerms lease = leases.read(node.path("lease"), path + ".lease", limit);
    if (!key.contains(KeyPart.CLIENT) || key.contains(KeyPart.IP)) {
      refuseWhatNeedsRecords(node, path, cold);
    }
    if (cold == ColdCacheMode.HOLD
        && (algorithm == LimitAlgorithm.SLIDING_LOG || algorithm == LimitAlgorithm.CONCURRENCY)) {
      fields.problem(
          path
              + ".on_cold_cache: hold requires a quota or window; "
              + (algorithm == LimitAlgorithm.SLIDING_LOG ? "sliding logs" : "slots")
              + " are not recorded, so they are not restored");
    }
    List<String> replaces = replaces(node.path("replaces"), path + ".replaces", name);
    fields.instant(node, path, PolicyFile.EFFECTIVE_FROM);
    if (fields.count() > problemsBefore
        || limit == null
        || mode == null
        || failure == null
        || cold == null) {
      return null;
    }
    return new Policy(
        name,
        match,
        key,
        limit,
        mode,
        failure,
        cold,
        debtCap < 0 ? limit.capacityTokens() : debtCap,
        lease,
        ipPrefix,
        replaces);
  }

  private List<String> replaces(JsonNode list, String path, String name) {
    if (list.isMissingNode()) {
      return List.of();
    }
    Set<String> names = names(list, path);
    if (names.contains(name)) {
      fields.problem(path + " must not name the policy itself");
    }
    if (names.size() > Policy.MAX_REPLACES) {
      fields.problem(
          "%s must name at most %s policies, but names %s"
              .formatted(path, Policy.MAX_REPLACES, names.size()));
    }
    return List.copyOf(names);
  }

  private void refuseWhatNeedsRecords(JsonNode node, String path, @Nullable ColdCacheMode cold) {
    String why = " requires the key [client] or [client, endpoint]; other buckets are not recorded";
    if (cold == ColdCacheMode.HOLD) {
      fields.problem(path + ".on_cold_cache: hold" + why + ", so they are not restored");
    }
    if (node.has("debt_cap")) {
      fields.problem(path + ".debt_cap" + why + ", so they are not corrected");
    }
    if (node.has("lease")) {
      fields.problem(path + ".lease" + why);
    }
  }

  /** Returns a map from the name of each plan to the names of the plan's policies. */
  private Map<String, Set<String>> plans(JsonNode node) {
    Map<String, Set<String>> plans = new HashMap<>();
    if (node.isMissingNode()) {
      return plans;
    }
    if (!node.isObject() || node.size() > PolicyFile.MAX_PLANS) {
      fields.problem(
          "plans must be a mapping from at most %s plans to their policies"
              .formatted(PolicyFile.MAX_PLANS));
      return plans;
    }
    for (Map.Entry<String, JsonNode> plan : node.properties()) {
      String path = "plans['" + Shown.cut(plan.getKey()) + "']";
      fields.refuseBadName(plan.getKey(), path + ": the plan");
      if (!plan.getValue().isObject()) {
        fields.problem(path + " must be a mapping with a list 'policies'");
        continue;
      }
      fields.refuseUnknown(plan.getValue(), path, Set.of("policies"));
      plans.put(plan.getKey(), names(plan.getValue().path("policies"), path + ".policies"));
    }
    return plans;
  }

  private Set<String> names(JsonNode list, String path) {
    Set<String> names = new LinkedHashSet<>();
    if (!list.isArray()) {
      fields.problem(path + " must be a list of policy names");
      return names;
    }
    for (int i = 0; i < list.size(); i++) {
      if (!list.get(i).isTextual()) {
        fields.problem(path + "[" + i + "] must be a string");
      } else if (!names.add(list.get(i).textValue())) {
        fields.problem(path + "[" + i + "] is named twice");
      }
    }
    return names;
  }

  /** Returns the settings of clients, by the name of the client. */
  private Map<String, ClientSettings> settings(JsonNode node) {
    Map<String, ClientSettings> settings = new HashMap<>();
    if (node.isMissingNode()) {
      return settings;
    }
    if (!node.isObject()) {
      fields.problem("clients must be a mapping from clients to their settings");
      return settings;
    }
    if (node.size() > PolicyFile.MAX_CLIENTS) {
      fields.problem(
          "clients must have at most %s entries, but has %s"
              .formatted(PolicyFile.MAX_CLIENTS, node.size()));
      return settings;
    }
    // clients with equal settings may share a node; read the settings of such a node once
    IdentityHashMap<JsonNode, ClientSettings> valid = new IdentityHashMap<>();
    for (Map.Entry<String, JsonNode> client : node.properties()) {
      ClientSettings known = valid.get(client.getValue());
      if (known == null) {
        int problemsBefore = fields.count();
        known = client(client.getKey(), client.getValue());
        if (fields.count() == problemsBefore) {
          valid.put(client.getValue(), known);
        }
      } else {
        refuseBadClient(client.getKey(), fields);
      }
      settings.put(client.getKey(), known);
    }
    return settings;
  }

  /** Returns the settings of a client. */
  ClientSettings client(String client, JsonNode node) {
    refuseBadClient(client, fields);
    return settingsOf(node, at(client));
  }

  private static String at(String client) {
    return "clients['" + Shown.cut(client) + "']";
  }

  /** Reports a client whose name violates the rule for names. */
  static void refuseBadClient(String client, FieldReader fields) {
    fields.refuseBadName(client, at(client) + ": the client");
  }

  private ClientSettings settingsOf(JsonNode node, String path) {
    if (!node.isObject()) {
      fields.problem(
          path
              + " must be a mapping with the fields plan, limits, time_zone, billing_anchor,"
              + " api_keys");
      return ClientSettings.NONE;
    }
    fields.refuseUnknown(node, path, CLIENT_FIELDS);
    return new ClientSettings(
        calendar(
            fields.timeZone(node, path, "time_zone"), fields.date(node, path, "billing_anchor")),
        node.has("plan") ? fields.name(node, path, "plan") : null,
        ownLimits(node.path("limits"), path + ".limits"),
        apiKeys.read(node.path("api_keys"), path + ".api_keys"));
  }

  private static ClientCalendar calendar(@Nullable ZoneId timeZone, @Nullable LocalDate anchor) {
    return timeZone == null && anchor == null
        ? ClientCalendar.OF_POLICY
        : new ClientCalendar(timeZone, anchor);
  }

  private Map<String, PolicyLimit> ownLimits(JsonNode node, String path) {
    Map<String, PolicyLimit> own = new HashMap<>();
    if (node.isMissingNode()) {
      return own;
    }
    if (!node.isObject()) {
      fields.problem(path + " must be a mapping from a policy to the client's own limit");
      return own;
    }
    for (Map.Entry<String, JsonNode> each : node.properties()) {
      PolicyLimit limit =
          limits.read(each.getValue(), path + "['" + Shown.cut(each.getKey()) + "']");
      if (limit != null) {
        own.put(each.getKey(), limit);
      }
    }
    return own;
  }
}
