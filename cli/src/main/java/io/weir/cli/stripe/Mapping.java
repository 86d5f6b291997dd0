// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.ingest.policy.YamlTree;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Maps clients to Stripe's customers, and meters to Stripe's events. Immutable.
 *
 * @param customers Stripe's customers by client
 * @param events Stripe's event names by meter
 * @param clientsNotBilled clients whose rows are not sent
 * @param metersNotBilled meters whose rows are not sent
 * @param sendsNegative whether a row with a negative quantity is sent; otherwise it is kept
 */
record Mapping(
    Map<String, String> customers,
    Map<String, String> events,
    Set<String> clientsNotBilled,
    Set<String> metersNotBilled,
    boolean sendsNegative) {
  /** Maximum length of a Stripe event name, in characters. */
  private static final int MAX_EVENT_NAME = 100;

  private static final Set<String> MEMBERS =
      Set.of("customers", "meters", "not_billed", "negative");

  public Mapping {
    customers = Map.copyOf(customers);
    events = Map.copyOf(events);
    clientsNotBilled = Set.copyOf(clientsNotBilled);
    metersNotBilled = Set.copyOf(metersNotBilled);
  }

  /**
   * Reads a mapping from YAML or JSON.
   *
   * @throws IllegalArgumentException if the text is not a valid mapping; the message lists all
   *     problems
   */
  static Mapping parse(String yaml) {
    try {
      return new Reader().read(YamlTree.of(yaml));
    } catch (YamlTree.NotYamlException notYaml) {
      throw new IllegalArgumentException(notYaml.getMessage(), notYaml);
    }
  }

  /** Reads a tree, and collects its problems. */
  private static final class Reader {
    private final List<String> problems = new ArrayList<>();

    Mapping read(JsonNode root) {
      if (!root.isObject()) {
        throw new IllegalArgumentException("must be a mapping with customers and meters");
      }
      requireKnown(root, MEMBERS, "");
      JsonNode notBilled = root.path("not_billed");
      if (!notBilled.isMissingNode() && !notBilled.isObject()) {
        problems.add("not_billed must be a mapping with clients, meters or both");
      }
      requireKnown(notBilled, Set.of("clients", "meters"), "not_billed.");
      Map<String, String> customers = names(root.path("customers"), "customers");
      Map<String, String> events = names(root.path("meters"), "meters");
      Set<String> clients = list(notBilled.path("clients"), "not_billed.clients");
      Set<String> meters = list(notBilled.path("meters"), "not_billed.meters");
      requireApart(customers.keySet(), clients, "customers");
      requireApart(events.keySet(), meters, "meters");
      events.values().stream()
          .filter(event -> event.length() > MAX_EVENT_NAME)
          .forEach(event -> problems.add("meters: " + event + " is longer than 100 characters"));
      JsonNode negative = root.path("negative");
      String word = negative.isMissingNode() ? "keep" : String.valueOf(negative.textValue());
      if (!Set.of("keep", "send").contains(word)) {
        problems.add("negative must be keep or send, but is " + negative);
      }
      if (!problems.isEmpty()) {
        throw new IllegalArgumentException(String.join("; ", problems));
      }
      return new Mapping(customers, events, clients, meters, word.equals("send"));
    }

    private void requireKnown(JsonNode node, Set<String> known, String prefix) {
      for (String name : (Iterable<String>) node::fieldNames) {
        if (!known.contains(name)) {
          problems.add(
              prefix + name + " is not known; there are " + known.stream().sorted().toList());
        }
      }
    }

    private void requireApart(Set<String> mapped, Set<String> notBilled, String member) {
      mapped.stream()
          .filter(notBilled::contains)
          .sorted()
          .forEach(name -> problems.add(name + " is in " + member + " and in not_billed"));
    }

    private Map<String, String> names(JsonNode node, String member) {
      Map<String, String> names = new HashMap<>();
      if (!node.isObject() || node.isEmpty()) {
        problems.add(member + " must be a mapping of names to names, with at least one entry");
        return names;
      }
      for (Map.Entry<String, JsonNode> entry : node.properties()) {
        if (!entry.getValue().isTextual() || entry.getValue().asText().isBlank()) {
          problems.add(member + "." + entry.getKey() + " must be a name");
        }
        names.put(entry.getKey(), entry.getValue().asText());
      }
      return names;
    }

    private Set<String> list(JsonNode node, String member) {
      Set<String> names = new HashSet<>();
      if (!node.isMissingNode() && !node.isArray()) {
        problems.add(member + " must be a list of names");
      }
      for (JsonNode name : node) {
        if (!name.isTextual()) {
          problems.add(member + " must be a list of names, but has " + name);
        }
        names.add(name.asText());
      }
      return names;
    }
  }
}
