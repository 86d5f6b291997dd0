// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.envoy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.ingest.gate.Descriptor;
import io.weir.ingest.rls.EndpointName;
import io.weir.ingest.rls.EntryNames;
import io.weir.limits.policy.Policy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Converts configurations of Envoy's rate limit service into a policy file. Each descriptor with a
 * limit becomes one policy. The policy's name is the endpoint of the descriptor's calls. The policy
 * has one bucket for each descriptor in Envoy's requests. Not thread-safe.
 *
 * <p>Envoy's service descends the tree by the most specific value of each key, and never
 * backtracks. For example, a tree has one descriptor for {@code a: 1}, and another descriptor for
 * any {@code a}. The value 1 then uses only the first descriptor, even if only the second has a
 * limit. A Weir node compares whole descriptors instead. So where a descriptor hides a limit, the
 * import adds a policy that denies nothing.
 */
public final class EnvoyImport {
  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

  /** Tokens per second of a bucket that no traffic can empty. */
  private static final long UNLIMITED = 1_000_000_000;

  private final Map<String, ObjectNode> policies = new LinkedHashMap<>();
  private final List<String> domains = new ArrayList<>();

  /** The names of the policies by the name of their limit, in one domain. */
  private final Map<String, List<String>> named = new HashMap<>();

  /** The names of the limits that a policy replaces, by policy, in one domain. */
  private final Map<String, List<String>> replacing = new LinkedHashMap<>();

  private final List<String> problems = new ArrayList<>();

  /**
   * Adds a configuration.
   *
   * @param file name of the file in problems
   * @param root the file's tree, in which keys and values are strings as written in the file
   */
  public void add(String file, JsonNode root) {
    ConfigReader reader = new ConfigReader();
    ConfigReader.Domain domain = reader.read(root);
    reader.problems().forEach(problem -> problems.add(file + ": " + problem));
    if (!reader.problems().isEmpty()) {
      return;
    }
    if (domains.contains(domain.name())) {
      problems.add(file + ": domain is '" + domain.name() + "', as in an earlier file");
      return;
    }
    domains.add(domain.name());
    named.clear();
    replacing.clear();
    addLimits(domain.name(), List.of(), domain.descriptors());
    addGuards(domain.name(), List.of(), domain.descriptors());
    replacing.forEach((policy, limits) -> addReplaced(file, policy, limits));
  }

  /** Adds the names of the policies that one policy replaces; ignores names without a limit. */
  private void addReplaced(String file, String policy, List<String> limits) {
    List<String> replaced =
        limits.stream()
            .flatMap(limit -> named.getOrDefault(limit, List.of()).stream())
            .distinct()
            .toList();
    if (replaced.size() > Policy.MAX_REPLACES) {
      problems.add(
          file
              + ": '"
              + policy
              + "' replaces "
              + replaced.size()
              + " limits, and a policy may replace at most "
              + Policy.MAX_REPLACES);
    }
    ObjectNode node = policies.get(policy);
    if (node != null && !replaced.isEmpty()) {
      ArrayNode list = node.putArray("replaces");
      replaced.forEach(list::add);
    }
  }

  /** Returns the problems, each with its file and path. */
  public List<String> problems() {
    return List.copyOf(problems);
  }

  /** Returns the policy file as a tree. */
  public JsonNode policies() {
    ArrayNode list = NODES.arrayNode();
    policies.values().forEach(list::add);
    return NODES.objectNode().set("policies", list);
  }

  private void addLimits(String domain, List<LimitNode> above, List<LimitNode> nodes) {
    for (LimitNode node : nodes) {
      List<LimitNode> path = with(above, node);
      LimitNode.Limit limit = node.limit();
      if (limit != null) {
        String policy = add(domain, path, limit, node.isShadow());
        String name = node.name();
        if (name != null) {
          named.computeIfAbsent(name, first -> new ArrayList<>()).add(policy);
        }
        if (!node.replaces().isEmpty()) {
          replacing.put(policy, node.replaces());
        }
      }
      addLimits(domain, path, node.children());
    }
  }

  /** Adds a policy for each limit that a more specific sibling without a limit hides. */
  private void addGuards(String domain, List<LimitNode> above, List<LimitNode> nodes) {
    for (LimitNode specific : nodes) {
      List<LimitNode> path = with(above, specific);
      for (LimitNode general : nodes) {
        if (!specific.equals(general) && general.covers(specific)) {
          addGuards(domain, path, specific, general);
        }
      }
      addGuards(domain, path, specific.children());
    }
  }

  /** Adds a policy for each limit of {@code general} that {@code specific} hides. */
  private void addGuards(
      String domain, List<LimitNode> path, LimitNode specific, LimitNode general) {
    if (general.limit() != null && specific.limit() == null) {
      add(domain, path, LimitNode.Limit.NONE, false);
    }
    for (LimitNode hidden : general.children()) {
      LimitNode taken = specific.childFor(hidden);
      if (taken == null) {
        for (List<LimitNode> below : hidden.limitedPaths()) {
          List<LimitNode> whole = new ArrayList<>(path);
          whole.addAll(below);
          add(domain, whole, LimitNode.Limit.NONE, false);
        }
      } else {
        addGuards(domain, with(path, hidden), taken, hidden);
      }
    }
  }

  private static List<LimitNode> with(List<LimitNode> path, LimitNode node) {
    List<LimitNode> longer = new ArrayList<>(path);
    longer.add(node);
    return longer;
  }

  /** Adds a policy if no policy exists for the same descriptors. Returns the policy's name. */
  private String add(String domain, List<LimitNode> path, LimitNode.Limit limit, boolean isShadow) {
    EndpointName name = new EndpointName(domain);
    for (LimitNode node : path) {
      String value = node.value();
      if (value == null) {
        name.with(node.key());
      } else if (node.isBeginning()) {
        name.withBeginning(node.key(), value.substring(0, value.length() - 1));
      } else {
        name.with(node.key(), value);
      }
    }
    policies.computeIfAbsent(name.name(), added -> policy(added, domain, path, limit, isShadow));
    return name.name();
  }

  private static ObjectNode policy(
      String name, String domain, List<LimitNode> path, LimitNode.Limit limit, boolean isShadow) {
    List<String> keys = path.stream().map(LimitNode::key).toList();
    List<String> names = EntryNames.of(keys);
    ObjectNode attributes = NODES.objectNode();
    attributes.putArray(Descriptor.DOMAIN).add(domain);
    attributes.putArray(Descriptor.KEYS).add(EntryNames.joined(keys));
    for (int i = 0; i < names.size(); i++) {
      String value = path.get(i).value();
      if (value != null) {
        attributes.putArray(names.get(i)).add(value);
      }
    }
    ObjectNode policy = NODES.objectNode();
    policy.put("name", name);
    policy.putObject("match").set("attributes", attributes);
    policy.putArray("key").add("client").add("endpoint");
    policy.set("limit", limit(limit));
    if (isShadow || limit.equals(LimitNode.Limit.NONE)) {
      policy.put("mode", "shadow");
    }
    return policy;
  }

  private static ObjectNode limit(LimitNode.Limit limit) {
    ObjectNode node = NODES.objectNode();
    if (limit.equals(LimitNode.Limit.NONE)) {
      return node.put("algorithm", "token-bucket")
          .put("capacity", UNLIMITED)
          .put("refill_tokens", UNLIMITED)
          .put("refill_period", Duration.ofSeconds(1).toString());
    }
    if (limit.requests() == 0) {
      return node.put("algorithm", "deny");
    }
    return node.put("algorithm", "fixed-window")
        .put("limit", limit.requests())
        .put("window", Duration.ofSeconds(limit.seconds()).toString());
  }
}
