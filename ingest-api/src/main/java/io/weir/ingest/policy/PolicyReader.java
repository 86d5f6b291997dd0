// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.topics.model.FailureMode;
import io.weir.topics.model.KeyPart;
import io.weir.topics.model.Names;
import io.weir.topics.model.Policy;
import io.weir.topics.model.PolicyMatch;
import io.weir.topics.model.PolicyMode;
import io.weir.topics.model.PolicySet;
import io.weir.topics.model.TokenBucketLimit;
import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Turns a parsed file into policies, and remembers every problem on the way. One use. */
final class PolicyReader {
  private static final String ALGORITHM = "token-bucket";

  private final List<String> problems = new ArrayList<>();

  List<String> problems() {
    return problems;
  }

  PolicySet read(JsonNode root) {
    if (root.isMissingNode() || root.isNull()) {
      problems.add("the file is empty; it must hold a list 'policies' (which may be empty: [])");
      return PolicySet.EMPTY;
    }
    if (!root.isObject()) {
      problems.add("the file must hold a mapping with a list 'policies'");
      return PolicySet.EMPTY;
    }
    refuseUnknown(root, "", Set.of("version", "policies"));
    long version = root.has("version") ? integer(root, "", "version", 0, Long.MAX_VALUE) : 1;
    List<Policy> policies = new ArrayList<>();
    Set<String> names = new HashSet<>();
    JsonNode list = root.path("policies");
    if (!list.isArray()) {
      problems.add("policies must be a list");
      return PolicySet.EMPTY;
    }
    if (list.size() > PolicySet.MAX_POLICIES) {
      problems.add(
          "policies must hold at most " + PolicySet.MAX_POLICIES + ", holds " + list.size());
      return PolicySet.EMPTY;
    }
    for (int i = 0; i < list.size(); i++) {
      Policy policy = policy(list.get(i), "policies[" + i + "]");
      if (policy != null && !names.add(policy.name())) {
        problems.add("policies[" + i + "].name '" + policy.name() + "' is used twice");
      } else if (policy != null) {
        policies.add(policy);
      }
    }
    return new PolicySet(version, policies);
  }

  private @Nullable Policy policy(JsonNode node, String path) {
    int problemsBefore = problems.size();
    if (!node.isObject()) {
      problems.add(path + " must be a mapping");
      return null;
    }
    refuseUnknown(node, path, Set.of("name", "match", "key", "limit", "mode", "on_cache_failure"));
    String name = name(node, path);
    PolicyMatch match = match(node.path("match"), path + ".match");
    List<KeyPart> key = key(node.path("key"), path + ".key");
    TokenBucketLimit limit = limit(node.path("limit"), path + ".limit");
    PolicyMode mode = choice(node, path, "mode", PolicyMode.class, PolicyMode.ENFORCE);
    FailureMode failure =
        choice(node, path, "on_cache_failure", FailureMode.class, FailureMode.OPEN);
    return problems.size() > problemsBefore || limit == null
        ? null
        : new Policy(name, match, key, limit, mode, failure);
  }

  private String name(JsonNode node, String path) {
    JsonNode name = node.path("name");
    if (!name.isTextual()) {
      problems.add(path + ".name " + (name.isMissingNode() ? "is missing" : "must be a string"));
      return "";
    }
    String violation = Names.violation(name.textValue());
    if (violation != null) {
      problems.add(path + ".name " + violation);
    }
    return name.textValue();
  }

  private PolicyMatch match(JsonNode node, String path) {
    if (node.isMissingNode()) {
      return PolicyMatch.ANY;
    }
    if (!node.isObject()) {
      problems.add(path + " must be a mapping of client, endpoint, meter");
      return PolicyMatch.ANY;
    }
    refuseUnknown(node, path, Set.of("client", "endpoint", "meter"));
    return new PolicyMatch(
        patterns(node, path, "client"),
        patterns(node, path, "endpoint"),
        patterns(node, path, "meter"));
  }

  private List<String> patterns(JsonNode node, String path, String field) {
    JsonNode list = node.path(field);
    if (list.isMissingNode()) {
      return List.of();
    }
    if (!list.isArray() || list.isEmpty()) {
      problems.add(path + "." + field + " must be a list of patterns (leave it out to match any)");
      return List.of();
    }
    List<String> patterns = new ArrayList<>();
    for (int i = 0; i < list.size(); i++) {
      String violation =
          list.get(i).isTextual() ? Names.violation(list.get(i).textValue()) : "must be a string";
      if (violation != null) {
        problems.add(path + "." + field + "[" + i + "] " + violation);
      } else {
        patterns.add(list.get(i).textValue());
      }
    }
    return patterns;
  }

  private List<KeyPart> key(JsonNode list, String path) {
    if (list.isMissingNode()) {
      return List.of(KeyPart.CLIENT);
    }
    List<KeyPart> parts = new ArrayList<>();
    if (list.isArray()) {
      for (JsonNode part : list) {
        KeyPart known = constant(KeyPart.class, part.asText());
        if (known == null || parts.contains(known)) {
          parts.clear();
          break;
        }
        parts.add(known);
      }
    }
    if (!parts.contains(KeyPart.CLIENT)) {
      problems.add(path + " must be [client] or [client, endpoint], is " + list);
    }
    return parts;
  }

  private @Nullable TokenBucketLimit limit(JsonNode node, String path) {
    if (!node.isObject()) {
      problems.add(path + (node.isMissingNode() ? " is missing" : " must be a mapping"));
      return null;
    }
    int problemsBefore = problems.size();
    refuseUnknown(node, path, Set.of("algorithm", "capacity", "refill_tokens", "refill_period"));
    String algorithm = node.path("algorithm").asText(ALGORITHM);
    if (!algorithm.equals(ALGORITHM)) {
      problems.add(path + ".algorithm must be " + ALGORITHM + ", is '" + algorithm + "'");
    }
    long max = TokenBucketLimit.EXACT_BELOW - 1;
    long capacity = integer(node, path, "capacity", 1, max);
    long refillTokens = integer(node, path, "refill_tokens", 1, max);
    long periodMicros = periodMicros(node.path("refill_period"), path + ".refill_period");
    if (problems.size() > problemsBefore) {
      return null;
    }
    try {
      return new TokenBucketLimit(capacity, refillTokens, periodMicros);
    } catch (IllegalArgumentException notCountable) {
      problems.add(path + ": " + notCountable.getMessage());
      return null;
    }
  }

  private long periodMicros(JsonNode node, String path) {
    if (!node.isTextual()) {
      problems.add(
          path
              + " must be an ISO 8601 duration such as PT1M"
              + (node.isMissingNode() ? "; it is missing" : ""));
      return 0;
    }
    try {
      Duration period = Duration.parse(node.textValue());
      long micros =
          Math.addExact(
              Math.multiplyExact(period.getSeconds(), 1_000_000L), period.getNano() / 1_000);
      if (period.getNano() % 1_000 == 0
          && micros >= 1
          && micros <= TokenBucketLimit.MAX_PERIOD_MICROS) {
        return micros;
      }
      problems.add(
          path + " must be whole microseconds, from 1 µs to 366 days, is " + node.textValue());
    } catch (DateTimeParseException | ArithmeticException notADuration) {
      problems.add(
          path + " must be an ISO 8601 duration such as PT1M, is '" + node.textValue() + "'");
    }
    return 0;
  }

  private long integer(JsonNode node, String path, String field, long min, long max) {
    JsonNode value = node.path(field);
    String where = path.isEmpty() ? field : path + "." + field;
    if (!value.isIntegralNumber()
        || !value.canConvertToLong()
        || value.longValue() < min
        || value.longValue() > max) {
      problems.add(
          where
              + (value.isMissingNode()
                  ? " is missing"
                  : " must be an integer from " + min + " to " + max + ", is " + value));
      return min;
    }
    return value.longValue();
  }

  private <E extends Enum<E>> E choice(
      JsonNode node, String path, String field, Class<E> type, E absent) {
    JsonNode value = node.path(field);
    if (value.isMissingNode()) {
      return absent;
    }
    // YAML 1.1 reads a bare off as false
    String text = value.isBoolean() && !value.booleanValue() ? "off" : value.asText();
    E known = constant(type, text);
    if (known == null) {
      problems.add(path + "." + field + " must be one of " + words(type) + ", is '" + text + "'");
      return absent;
    }
    return known;
  }

  private static <E extends Enum<E>> @Nullable E constant(Class<E> type, String word) {
    for (E constant : type.getEnumConstants()) {
      if (constant.name().toLowerCase(Locale.ROOT).equals(word)) {
        return constant;
      }
    }
    return null;
  }

  private static <E extends Enum<E>> String words(Class<E> type) {
    return List.of(type.getEnumConstants()).stream()
        .map(constant -> constant.name().toLowerCase(Locale.ROOT))
        .collect(Collectors.joining(", "));
  }

  private void refuseUnknown(JsonNode node, String path, Set<String> known) {
    for (Map.Entry<String, JsonNode> field : node.properties()) {
      if (!known.contains(field.getKey())) {
        problems.add(
            (path.isEmpty() ? "" : path + ".")
                + field.getKey()
                + " is not known here; known are "
                + known.stream().sorted().collect(Collectors.joining(", ")));
      }
    }
  }
}
