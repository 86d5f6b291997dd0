// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.envoy;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.ingest.rls.Units;
import io.weir.limits.Names;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads the tree of a configuration file. If policies have no counterpart of a setting, reports the
 * setting's path in the file. Not thread-safe; use one instance for each file.
 */
final class ConfigReader {
  private static final long MAX_REQUESTS = 0xffff_ffffL;

  /** A decimal number that fits into a {@code long}; YAML reads a leading zero as octal. */
  private static final Pattern NUMBER = Pattern.compile("0|[1-9][0-9]{0,17}");

  /** Settings that are ignored, because they only affect the metrics of Envoy's service. */
  private static final Set<String> PASSED_OVER = Set.of("detailed_metric", "value_to_metric");

  private static final Map<String, String> WITHOUT_COUNTERPART =
      Map.of(
          "share_threshold",
          "has no counterpart: in Weir, each value has its own bucket",
          "quota_mode",
          "has no counterpart");

  private final List<String> problems = new ArrayList<>();

  /** A domain with its descriptors. */
  record Domain(String name, List<LimitNode> descriptors) {
    Domain {
      descriptors = List.copyOf(descriptors);
    }
  }

  /** Returns the problems, each with its path in the file. */
  List<String> problems() {
    return problems;
  }

  /** Reads a file. The result is valid only if there are no problems. */
  Domain read(JsonNode root) {
    if (!root.isObject()) {
      problem("the file", "must be a mapping of domain and descriptors");
      return new Domain("", List.of());
    }
    refuseUnknown(root, "", Set.of("domain", "descriptors"));
    return new Domain(name(root.path("domain"), "domain"), descriptors(root, ""));
  }

  private List<LimitNode> descriptors(JsonNode parent, String path) {
    JsonNode list = parent.path("descriptors");
    String at = path + "descriptors";
    List<LimitNode> nodes = new ArrayList<>();
    if (list.isMissingNode() || list.isNull()) {
      return nodes;
    }
    if (!list.isArray()) {
      problem(at, "must be a list");
      return nodes;
    }
    Set<String> seen = new HashSet<>();
    for (JsonNode each : list) {
      String here = at + "[" + nodes.size() + "]";
      LimitNode node = node(each, here);
      for (int before = 0; before < nodes.size(); before++) {
        if (nodes.get(before).isBeginning()
            && node.isBeginning()
            && nodes.get(before).covers(node)) {
          problem(
              here,
              "never applies, because "
                  + at
                  + "["
                  + before
                  + "] precedes it and matches the same values");
        }
      }
      nodes.add(node);
      String value = node.value();
      if (!seen.add(node.key().length() + node.key() + (value == null ? "" : value))) {
        problem(here, "repeats the key and value of an earlier descriptor");
      }
    }
    return nodes;
  }

  private LimitNode node(JsonNode node, String path) {
    if (!node.isObject()) {
      problem(path, "must be a mapping");
      return new LimitNode("", null, null, false, null, List.of(), List.of());
    }
    refuseUnknown(node, path, Set.of("key", "value", "rate_limit", "shadow_mode", "descriptors"));
    String name = text(node.path("rate_limit").path("name"), path + ".rate_limit.name");
    return new LimitNode(
        key(node.path("key"), path + ".key"),
        value(node.path("value"), path + ".value"),
        limit(node.path("rate_limit"), path + ".rate_limit"),
        flag(node, path, "shadow_mode"),
        name == null || name.isEmpty() ? null : name,
        replaces(node.path("rate_limit").path("replaces"), path + ".rate_limit.replaces", name),
        descriptors(node, path + "."));
  }

  /**
   * Returns a name; empty if the name is missing. Reports a name that contains {@code *}, because
   * policies treat this character as a wildcard.
   */
  private String name(JsonNode node, String path) {
    String text = text(node, path);
    if (text == null) {
      if (node.isMissingNode() || node.isNull()) {
        problem(path, "is missing");
      }
      return "";
    }
    String violation = Names.violation(text);
    if (violation == null && text.indexOf('*') >= 0) {
      violation = "must not have a *, which means any text in patterns";
    }
    if (violation != null) {
      problem(path, violation);
    }
    return text;
  }

  /**
   * Returns the key of an entry. The key must not contain {@code ;}, because policies join several
   * keys by this character.
   */
  private String key(JsonNode node, String path) {
    String key = name(node, path);
    if (key.indexOf(';') >= 0) {
      problem(path, "must not have a ;, which separates keys in policies");
    }
    return key;
  }

  /** Returns the value of an entry; null if any value matches. */
  private @Nullable String value(JsonNode node, String path) {
    String text = text(node, path);
    if (text == null || text.isEmpty()) {
      return null;
    }
    String violation = Names.violation(text);
    int star = text.indexOf('*');
    if (violation == null && star >= 0 && star < text.length() - 1) {
      violation = "has a * before its end, which patterns cannot express";
    }
    if (violation != null) {
      problem(path, violation);
    }
    return text;
  }

  private @Nullable String text(JsonNode node, String path) {
    if (node.isTextual()) {
      return node.textValue();
    }
    if (!node.isMissingNode() && !node.isNull()) {
      problem(path, "must be a string; put it in quotes");
    }
    return null;
  }

  /** Returns the names of the limits that one limit replaces, without repetitions. */
  private List<String> replaces(JsonNode list, String path, @Nullable String ofItself) {
    Set<String> names = new LinkedHashSet<>();
    if (list.isMissingNode() || list.isNull()) {
      return List.of();
    }
    if (!list.isArray()) {
      problem(path, "must be a list");
      return List.of();
    }
    for (int i = 0; i < list.size(); i++) {
      String here = path + "[" + i + "]";
      if (!list.get(i).isObject()) {
        problem(here, "must be a mapping with a name");
        continue;
      }
      refuseUnknown(list.get(i), here, Set.of("name"));
      String name = text(list.get(i).path("name"), here + ".name");
      if (name == null || name.isEmpty()) {
        problem(here + ".name", "is missing");
      } else if (name.equals(ofItself)) {
        problem(here + ".name", "must not name the limit itself");
      } else {
        names.add(name);
      }
    }
    return List.copyOf(names);
  }

  private LimitNode.@Nullable Limit limit(JsonNode node, String path) {
    if (node.isMissingNode() || node.isNull()) {
      return null;
    }
    if (!node.isObject()) {
      problem(path, "must be a mapping");
      return null;
    }
    refuseUnknown(node, path, Set.of("unit", "requests_per_unit", "unlimited", "name", "replaces"));
    if (flag(node, path, "unlimited")) {
      if (node.has("unit") || node.has("requests_per_unit")) {
        problem(path, "must not have unit or requests_per_unit, because the limit is unlimited");
      }
      return LimitNode.Limit.NONE;
    }
    String digits = node.path("requests_per_unit").asText("");
    long requests = NUMBER.matcher(digits).matches() ? Long.parseLong(digits) : -1;
    boolean isNumber = requests >= 0 && requests <= MAX_REQUESTS;
    if (!isNumber) {
      problem(path + ".requests_per_unit", "must be a number from 0 to " + MAX_REQUESTS);
    }
    long seconds = Units.seconds(node.path("unit").asText(""));
    if (seconds == 0) {
      problem(path + ".unit", "must be second, minute, hour, day, week, month or year");
    }
    return new LimitNode.Limit(isNumber ? requests : 0, seconds);
  }

  private boolean flag(JsonNode node, String path, String field) {
    JsonNode flag = node.path(field);
    String text = flag.asText("").toLowerCase(Locale.ROOT);
    if (!flag.isMissingNode() && !text.equals("true") && !text.equals("false")) {
      problem(path + "." + field, "must be true or false");
    }
    return text.equals("true");
  }

  private void refuseUnknown(JsonNode node, String path, Set<String> known) {
    for (Iterator<String> fields = node.fieldNames(); fields.hasNext(); ) {
      String field = fields.next();
      if (!known.contains(field) && !PASSED_OVER.contains(field)) {
        problem(
            path.isEmpty() ? field : path + "." + field,
            WITHOUT_COUNTERPART.getOrDefault(field, "is not known"));
      }
    }
  }

  private void problem(String path, String rule) {
    problems.add(path + " " + rule);
  }
}
