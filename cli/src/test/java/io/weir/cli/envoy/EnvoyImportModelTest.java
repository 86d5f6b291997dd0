// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.envoy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.ingest.gate.Descriptor;
import io.weir.ingest.policy.PolicyFile;
import io.weir.ingest.rls.EntryNames;
import io.weir.limits.policy.CallFacts;
import io.weir.limits.policy.MatchedPolicies;
import io.weir.limits.policy.PolicyMatcher;
import io.weir.limits.policy.PolicyMode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Random configurations, asked about random descriptors: the imported policies limit each as a walk
 * down the tree does, which is how Envoy's own service finds a limit.
 */
final class EnvoyImportModelTest {
  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;
  private static final List<String> KEYS = List.of("a", "b");
  private static final List<String> VALUES = List.of("x", "xy", "xyz", "z");
  private static final List<String> NODE_VALUES = List.of("", "x", "xy", "x*", "xy*", "z");

  private int nextLimit = 1;

  @Test
  void importedPolicies_limitWhatTheTreeLimits() {
    int limited = 0;
    int unlimited = 0;
    for (int seed = 0; seed < 400; seed++) {
      Random random = new Random(seed);
      nextLimit = 1;
      ObjectNode config = NODES.objectNode().put("domain", "shop");
      config.set("descriptors", tree(random, 3));
      EnvoyImport imported = new EnvoyImport();
      imported.add("file", config);
      if (!imported.problems().isEmpty()) {
        continue; // a value that is never reached
      }
      PolicyFile.Content content = PolicyFile.of(imported.policies());
      assertTrue(content instanceof PolicyFile.Content.Valid, content::toString);
      PolicyMatcher matcher = PolicyMatcher.of(((PolicyFile.Content.Valid) content).policies());
      for (int i = 0; i < 40; i++) {
        List<String[]> entries = entries(random);
        Long wanted = walk(config, entries);
        assertEquals(
            wanted == null ? List.of() : List.of(wanted),
            selected(matcher, entries),
            "seed " + seed + " " + show(entries) + " " + config);
        limited += wanted == null ? 0 : 1;
        unlimited += wanted == null ? 1 : 0;
      }
    }
    assertTrue(limited > 500 && unlimited > 500, limited + " limited, " + unlimited + " not");
  }

  /**
   * Of the limits that the descriptors of a request have, those are left away whose name one of
   * them replaces.
   */
  @Test
  void importedPolicies_replaceWhatTheLimitsReplace() {
    int replaced = 0;
    for (int seed = 0; seed < 400; seed++) {
      Random random = new Random(seed);
      nextLimit = 1;
      ObjectNode config = NODES.objectNode().put("domain", "shop");
      config.set("descriptors", tree(random, 2));
      nameLimits(random, config);
      EnvoyImport imported = new EnvoyImport();
      imported.add("file", config);
      if (!imported.problems().isEmpty()) {
        continue; // a value that is never reached
      }
      PolicyFile.Content content = PolicyFile.of(imported.policies());
      assertTrue(content instanceof PolicyFile.Content.Valid, content::toString);
      PolicyMatcher matcher = PolicyMatcher.of(((PolicyFile.Content.Valid) content).policies());
      for (int i = 0; i < 40; i++) {
        List<List<String[]>> request = new ArrayList<>();
        for (int j = random.nextInt(8); j >= 0; j--) {
          request.add(entries(random));
        }
        List<List<Long>> wanted = walkTogether(config, request);
        assertEquals(
            wanted,
            selectedTogether(matcher, request),
            "seed "
                + seed
                + " "
                + request.stream().map(EnvoyImportModelTest::show).toList()
                + " "
                + config);
        for (int j = 0; j < request.size(); j++) {
          replaced += wanted.get(j).isEmpty() && walk(config, request.get(j)) != null ? 1 : 0;
        }
      }
    }
    assertTrue(replaced > 300, replaced + " replaced");
  }

  /** Gives limits names, of which several have the same, and names that they replace. */
  private static void nameLimits(Random random, JsonNode parent) {
    for (JsonNode node : parent.path("descriptors")) {
      if (node.path("rate_limit") instanceof ObjectNode limit) {
        String name = "n" + random.nextInt(3);
        if (random.nextInt(4) > 0) {
          limit.put("name", name);
        }
        String other = "n" + random.nextInt(3);
        if (random.nextInt(4) > 0 && !other.equals(name)) {
          limit.putArray("replaces").addObject().put("name", other);
        }
      }
      nameLimits(random, node);
    }
  }

  private static List<List<Long>> walkTogether(ObjectNode config, List<List<String[]>> request) {
    List<String> replaced = new ArrayList<>();
    for (List<String[]> entries : request) {
      JsonNode limit = node(config, entries).path("rate_limit");
      limit.path("replaces").forEach(each -> replaced.add(each.path("name").asText()));
    }
    List<List<Long>> limits = new ArrayList<>();
    for (List<String[]> entries : request) {
      JsonNode limit = node(config, entries).path("rate_limit");
      Long requests = walk(config, entries);
      limits.add(
          requests == null || replaced.contains(limit.path("name").asText("-"))
              ? List.of()
              : List.of(requests));
    }
    return limits;
  }

  /** The policies that a node finds for each descriptor of a request. */
  private static List<List<Long>> selectedTogether(
      PolicyMatcher matcher, List<List<String[]>> request) {
    Set<String> replaced = new HashSet<>();
    for (List<String[]> entries : request) {
      CallFacts facts = facts(entries);
      replaced.addAll(
          new Descriptor(names(entries), null)
              .select(matcher.matchAll(facts, 1), facts, 1)
              .replaced());
    }
    List<List<Long>> limits = new ArrayList<>();
    for (List<String[]> entries : request) {
      CallFacts facts = facts(entries);
      limits.add(
          capacities(
              new Descriptor(names(entries), null, replaced)
                  .apply(matcher.matchAll(facts, 1), facts, 1)));
    }
    return limits;
  }

  private ArrayNode tree(Random random, int depth) {
    ArrayNode list = NODES.arrayNode();
    for (String key : KEYS) {
      for (String value : NODE_VALUES) {
        if (random.nextInt(4) > 0) {
          continue;
        }
        ObjectNode node = list.addObject().put("key", key);
        if (!value.isEmpty()) {
          node.put("value", value);
        }
        int kind = random.nextInt(4);
        if (kind < 2) {
          node.putObject("rate_limit").put("unit", "day").put("requests_per_unit", nextLimit++);
        } else if (kind == 2) {
          node.putObject("rate_limit").put("unlimited", true);
        }
        if (depth > 1 && random.nextBoolean()) {
          node.set("descriptors", tree(random, depth - 1));
        }
      }
    }
    return list;
  }

  private static List<String[]> entries(Random random) {
    List<String[]> entries = new ArrayList<>();
    for (int i = random.nextInt(3); i >= 0; i--) {
      entries.add(
          new String[] {
            KEYS.get(random.nextInt(KEYS.size())), VALUES.get(random.nextInt(VALUES.size()))
          });
    }
    return entries;
  }

  /** Goes down by the value, else by the first beginning of it, else by the key alone. */
  private static JsonNode node(ObjectNode config, List<String[]> entries) {
    JsonNode at = config;
    for (String[] entry : entries) {
      JsonNode exact = null;
      JsonNode beginning = null;
      JsonNode any = null;
      for (JsonNode node : at.path("descriptors")) {
        if (!node.path("key").asText().equals(entry[0])) {
          continue;
        }
        String value = node.path("value").asText("");
        if (value.isEmpty()) {
          any = node;
        } else if (value.equals(entry[1])) {
          exact = node;
        } else if (beginning == null
            && value.endsWith("*")
            && entry[1].startsWith(value.substring(0, value.length() - 1))) {
          beginning = node;
        }
      }
      JsonNode next = exact != null ? exact : beginning != null ? beginning : any;
      if (next == null) {
        return MissingNode.getInstance();
      }
      at = next;
    }
    return at;
  }

  private static @Nullable Long walk(ObjectNode config, List<String[]> entries) {
    JsonNode at = node(config, entries);
    return at.path("rate_limit").has("requests_per_unit")
        ? at.path("rate_limit").path("requests_per_unit").asLong()
        : null;
  }

  /** The capacities of the policies that deny, as a node finds them. */
  private static List<Long> selected(PolicyMatcher matcher, List<String[]> entries) {
    CallFacts facts = facts(entries);
    return capacities(
        new Descriptor(names(entries), null).select(matcher.match(facts, 1), facts, 1));
  }

  private static List<String> names(List<String[]> entries) {
    return EntryNames.of(entries.stream().map(entry -> entry[0]).toList());
  }

  private static CallFacts facts(List<String[]> entries) {
    List<String> keys = entries.stream().map(entry -> entry[0]).toList();
    List<String> names = EntryNames.of(keys);
    Map<String, String> attributes = new HashMap<>();
    attributes.put(Descriptor.DOMAIN, "shop");
    attributes.put(Descriptor.KEYS, EntryNames.joined(keys));
    for (int i = 0; i < names.size(); i++) {
      attributes.put(names.get(i), entries.get(i)[1]);
    }
    return new CallFacts("client", "endpoint", "calls", null, attributes);
  }

  private static List<Long> capacities(MatchedPolicies matched) {
    return matched.evaluated().stream()
        .filter(match -> match.policy().mode() == PolicyMode.ENFORCE)
        .map(match -> match.policy().limit().capacityTokens())
        .toList();
  }

  private static String show(List<String[]> entries) {
    return entries.stream().map(entry -> entry[0] + "=" + entry[1]).toList().toString();
  }
}
