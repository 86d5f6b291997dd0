// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.policies;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.ingest.policy.log.PolicyEditor.Draft;
import io.weir.ingest.policy.log.PolicyEntry;
import io.weir.ingest.policy.log.PolicyKey;
import io.weir.ingest.policy.log.PolicyLogState;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Describes the effect of a change on each policy and client: {@code +} added, {@code -} removed,
 * {@code ~} changed, followed by the changed members.
 */
final class PolicyDifferences {
  private final List<String> lines = new ArrayList<>();

  private PolicyDifferences() {}

  /** Returns the differences between drafts and the published entries; empty if there are none. */
  static List<String> of(PolicyLogState state, List<Draft> drafts) {
    PolicyDifferences differences = new PolicyDifferences();
    for (Draft draft : drafts) {
      if (draft.key().kind() != PolicyKey.Kind.FILE) {
        differences.add(state.entry(draft.key()), draft);
      }
    }
    return differences.lines;
  }

  /** Returns how many policies and clients the lines add, change and remove. */
  static String summary(List<String> lines) {
    return count(lines, '+')
        + " added, "
        + count(lines, '~')
        + " changed, "
        + count(lines, '-')
        + " removed";
  }

  private static long count(List<String> lines, char sign) {
    return lines.stream().filter(line -> line.charAt(0) == sign).count();
  }

  private void add(@Nullable PolicyEntry present, Draft draft) {
    JsonNode before = present == null ? null : present.content();
    JsonNode after = draft.content();
    if (before == null && after != null) {
      lines.add("+ " + draft.key());
    } else if (after == null) {
      lines.add("- " + draft.key() + (before == null ? " (cannot be read)" : ""));
    } else if (before != null && present != null) {
      lines.add("~ " + draft.key());
      addMembers(before, after);
      if (present.order() != draft.order() && before.equals(after)) {
        lines.add("    its position among the policies");
      }
    }
  }

  private void addMembers(JsonNode before, JsonNode after) {
    Map<String, JsonNode> then = new TreeMap<>();
    Map<String, JsonNode> now = new TreeMap<>();
    flatten("", before, then);
    flatten("", after, now);
    Map<String, JsonNode> all = new TreeMap<>(then);
    all.putAll(now);
    for (String member : all.keySet()) {
      JsonNode old = then.get(member);
      JsonNode changed = now.get(member);
      // a number from a file and the same number from the topic may differ in Java type
      if (!Objects.toString(old).equals(Objects.toString(changed))) {
        lines.add("    " + member + ": " + text(old) + " -> " + text(changed));
      }
    }
  }

  private static String text(@Nullable JsonNode value) {
    return value == null ? "(absent)" : value.isTextual() ? value.textValue() : value.toString();
  }

  private static void flatten(String path, JsonNode node, Map<String, JsonNode> members) {
    if (!node.isObject()) {
      members.put(path, node);
      return;
    }
    for (Map.Entry<String, JsonNode> member : node.properties()) {
      String name = path.isEmpty() ? member.getKey() : path + "." + member.getKey();
      flatten(name, member.getValue(), members);
    }
  }
}
