// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.event;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.ingest.event.EventRule.DataPath;
import io.weir.ingest.policy.FieldReader;
import io.weir.ingest.policy.YamlTree;
import io.weir.topics.model.CallEvent;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A parser for files of event rules. Weir refuses the whole file if one rule is invalid, and the
 * parser reports every problem. Not thread-safe; each parser parses one file.
 */
public final class EventRulesFile {
  /** Maximum number of types, and of permitted endpoints of one type. */
  static final int MAX_ENTRIES = 1_000;

  private static final String TYPES = "types";
  private static final String OTHER_TYPES = "other_types";
  private static final String METER = "meter";
  private static final String ENDPOINT = "endpoint";
  private static final String VALUE = "value";
  private static final String SCALE = "scale";
  private static final String PROPERTY = "property";
  private static final String VALUES = "values";
  private static final String OTHER = "other";

  private final FieldReader fields = new FieldReader();

  private EventRulesFile() {}

  /** The result of parsing a file. */
  public sealed interface Content {
    /** The rules. */
    record Valid(EventRules rules) implements Content {}

    /**
     * The problems of an invalid file, at least one. Each problem names the place in the file and
     * the rule.
     */
    record Invalid(List<String> problems) implements Content {
      public Invalid {
        problems = List.copyOf(problems);
      }
    }
  }

  /**
   * Parses a file's text.
   *
   * @param maxAge maximum age of an event
   */
  public static Content parse(String yaml, Duration maxAge) {
    JsonNode root;
    try {
      root = YamlTree.of(yaml);
    } catch (YamlTree.NotYamlException notYaml) {
      return new Content.Invalid(List.of(String.valueOf(notYaml.getMessage())));
    }
    EventRulesFile file = new EventRulesFile();
    EventRules rules = file.read(root, maxAge);
    List<String> problems = file.fields.problems();
    return problems.isEmpty() ? new Content.Valid(rules) : new Content.Invalid(problems);
  }

  private EventRules read(JsonNode root, Duration maxAge) {
    if (!root.isObject() || (!root.has(TYPES) && !root.has(OTHER_TYPES))) {
      fields.problem("the file must contain a mapping with 'types', 'other_types', or both");
      return EventRules.none();
    }
    fields.refuseUnknown(root, "", Set.of(TYPES, OTHER_TYPES));
    JsonNode types = root.path(TYPES);
    if (root.has(TYPES) && (!types.isObject() || types.size() > MAX_ENTRIES)) {
      fields.problem("types must be a mapping from at most " + MAX_ENTRIES + " types to rules");
    }
    Map<String, EventRule> byType = new HashMap<>();
    for (Map.Entry<String, JsonNode> type : types.properties()) {
      String place = FieldReader.at(TYPES, type.getKey());
      fields.refuseBadName(type.getKey(), place);
      byType.put(type.getKey(), rule(type.getValue(), place));
    }
    EventRule other = root.has(OTHER_TYPES) ? rule(root.path(OTHER_TYPES), OTHER_TYPES) : null;
    return new EventRules(byType, other, maxAge);
  }

  private EventRule rule(JsonNode node, String path) {
    if (!node.isObject()) {
      fields.problem(path + " must be a mapping with the field 'meter'");
    }
    fields.refuseUnknown(node, path, Set.of(METER, ENDPOINT, VALUE, SCALE));
    DataPath value = node.has(VALUE) ? path(node, path, VALUE) : null;
    boolean isScaled = node.has(SCALE);
    if (isScaled && !node.has(VALUE)) {
      fields.problem(FieldReader.at(path, SCALE) + " requires the field value");
    }
    int scale = isScaled ? (int) fields.integer(node, path, SCALE, 0, EventRule.MAX_SCALE) : 0;
    return new EventRule(fields.name(node, path, METER), endpoint(node, path), value, scale);
  }

  private EventRule.Endpoint endpoint(JsonNode node, String path) {
    if (!node.has(ENDPOINT)) {
      return new EventRule.Endpoint.Fixed(CallEvent.DEFAULT_ENDPOINT);
    }
    JsonNode endpoint = node.path(ENDPOINT);
    if (!endpoint.isObject()) {
      return new EventRule.Endpoint.Fixed(fields.name(node, path, ENDPOINT));
    }
    String place = FieldReader.at(path, ENDPOINT);
    fields.refuseUnknown(endpoint, place, Set.of(PROPERTY, VALUES, OTHER));
    DataPath property = path(endpoint, place, PROPERTY);
    Set<String> values = values(endpoint.path(VALUES), FieldReader.at(place, VALUES));
    String other = endpoint.has(OTHER) ? fields.name(endpoint, place, OTHER) : null;
    return property == null
        ? new EventRule.Endpoint.Fixed(CallEvent.DEFAULT_ENDPOINT)
        : new EventRule.Endpoint.Property(property, values, other);
  }

  private Set<String> values(JsonNode list, String place) {
    Set<String> values = new HashSet<>();
    if (!list.isArray() || list.isEmpty() || list.size() > MAX_ENTRIES) {
      fields.problem(place + " must be a list of 1 to " + MAX_ENTRIES + " permitted endpoints");
      return values;
    }
    for (JsonNode value : list) {
      if (value.isTextual()) {
        fields.refuseBadName(value.textValue(), place);
        values.add(value.textValue());
      } else {
        fields.problem(place + " must contain only strings");
      }
    }
    return values;
  }

  private @Nullable DataPath path(JsonNode node, String path, String field) {
    String text = fields.name(node, path, field);
    DataPath parsed = text.isEmpty() ? null : DataPath.parse(text);
    if (parsed == null && !text.isEmpty()) {
      fields.problem(
          FieldReader.at(path, field)
              + " must name a member of the data, such as tokens, usage.tokens or $.usage.tokens");
    }
    return parsed;
  }
}
