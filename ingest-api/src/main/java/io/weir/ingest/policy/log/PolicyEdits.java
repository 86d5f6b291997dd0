// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.ingest.policy.log.PolicyEditor.Change;
import io.weir.ingest.policy.log.PolicyEditor.Draft;
import io.weir.ingest.policy.log.PolicyEditor.Reason;
import io.weir.ingest.policy.log.PolicyEditor.RefusedException;
import io.weir.ingest.policy.log.PolicyEntryCodec.ContentTexts;
import io.weir.limits.policy.PolicyMode;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Creates the changes by which operators edit policies. Stateless and thread-safe. */
public final class PolicyEdits {
  /** Expected version that matches any version of a key, or a missing key. */
  public static final long ANY_VERSION = -1;

  /** The names of the settings of policy files. */
  static final List<String> SETTINGS =
      List.of("default_plan", "unknown_clients", "unmatched_calls");

  /** Expected version that matches any version of a key that exists. */
  public static final long SOME_VERSION = -2;

  private static final Set<PolicyKey.Kind> OF_FILES =
      EnumSet.of(
          PolicyKey.Kind.POLICY,
          PolicyKey.Kind.CLIENT,
          PolicyKey.Kind.PLAN,
          PolicyKey.Kind.SETTING);

  private PolicyEdits() {}

  /** A change that replaces the whole policy set. */
  private interface WholeChange extends Change {
    @Override
    default boolean isWhole() {
      return true;
    }
  }

  /** A change of the whole policy set that has an effect only on an empty log. */
  private interface FirstChange extends WholeChange {
    @Override
    default boolean isFirst() {
      return true;
    }
  }

  /**
   * Returns a change that publishes a node's own copy of the policies after the loss of the log.
   */
  static Change restore(PolicyLogState known) {
    return new FirstChange() {
      @Override
      public List<Draft> on(PolicyLogState state) {
        List<Draft> drafts = new ArrayList<>();
        for (PolicyEntry entry : known.entries()) {
          if (!entry.isDeleted()) {
            drafts.add(new Draft(entry.key(), entry.content(), entry.order(), entry.untilThen()));
          }
        }
        return drafts;
      }

      @Override
      public long leastVersion() {
        return known.version() + 1;
      }
    };
  }

  /**
   * Returns a change that writes one key. A new policy gets the last place in the order.
   *
   * @param seen the expected version of the key's entry; 0 if the key must not exist, {@link
   *     #ANY_VERSION} for no condition, {@link #SOME_VERSION} if the key must exist
   */
  public static Change put(PolicyKey key, JsonNode content, long seen) {
    JsonNode wanted = PolicyEntryCodec.normal(content);
    return state -> {
      PolicyEntry present = existing(state, key);
      requireSeen(key, present, seen);
      long order = key.kind() == PolicyKey.Kind.POLICY ? orderOf(state, present) : 0;
      return present != null && wanted.equals(present.content())
          ? List.of()
          : List.of(new Draft(key, wanted, order));
    };
  }

  /**
   * Returns a change that deletes one key.
   *
   * @param seen as in {@link #put}
   */
  public static Change delete(PolicyKey key, long seen) {
    return state -> {
      PolicyEntry present = existing(state, key);
      if (present == null) {
        throw new RefusedException(Reason.NOT_FOUND, "there is no " + key);
      }
      requireSeen(key, present, seen);
      return List.of(new Draft(key, null));
    };
  }

  /**
   * Returns a change that sets the enforcement switch, which limits the mode of all policies.
   *
   * @param seen as in {@link #put}
   */
  public static Change enforcement(PolicyMode mode, long seen) {
    ObjectNode content = PolicyEntryCodec.JSON.createObjectNode();
    content.put("mode", mode.name().toLowerCase(Locale.ROOT));
    return state -> {
      requireSeen(PolicyKey.ENFORCEMENT, existing(state, PolicyKey.ENFORCEMENT), seen);
      return state.enforcement() == mode
          ? List.of()
          : List.of(new Draft(PolicyKey.ENFORCEMENT, content));
    };
  }

  /**
   * Returns a change that replaces all policies, plans, clients and settings by the contents of a
   * file. The editor refuses the change if a client would lose an API key. Only the log has the
   * hashes of created keys, and Weir would refuse callers with a lost key immediately.
   *
   * @param file the file
   */
  public static Change apply(AppliedFile file) {
    return apply(file, false);
  }

  /** Returns a change that publishes a file if the log is empty, and otherwise has no effect. */
  static Change publishFirst(AppliedFile file) {
    return (FirstChange) state -> withNote(state, file, drafts(state, file.tree()));
  }

  /**
   * Returns the change of {@link #apply(AppliedFile)}, and optionally permits the loss of API keys.
   *
   * @param mayRevokeKeys whether clients may lose API keys
   */
  public static Change apply(AppliedFile file, boolean mayRevokeKeys) {
    return (WholeChange)
        state -> {
          List<Draft> drafts = drafts(state, file.tree());
          if (!mayRevokeKeys) {
            ApiKeyEdits.requireNoneRevoked(state, drafts);
          }
          return withNote(state, file, drafts);
        };
  }

  /** Adds a note with the file's name to the history, if the file changes something. */
  private static List<Draft> withNote(PolicyLogState state, AppliedFile file, List<Draft> drafts) {
    // the first version is published even if the file is empty
    if (!drafts.isEmpty() || state.version() == 0) {
      ObjectNode content = PolicyEntryCodec.JSON.createObjectNode();
      content.put("name", file.name());
      drafts.add(new Draft(PolicyKey.ofFile(file.digest()), content));
    }
    return drafts;
  }

  /** Returns the drafts that a publication of the file would write. */
  public static List<Draft> drafts(PolicyLogState state, JsonNode tree) {
    List<Draft> drafts = new ArrayList<>();
    ContentTexts texts = new ContentTexts();
    Set<PolicyKey> kept = new HashSet<>();
    long order = 0;
    for (JsonNode policy : tree.path("policies")) {
      order++;
      PolicyKey key = PolicyKey.ofPolicy(policy.path("name").asText());
      kept.add(key);
      addIfOther(drafts, state, texts, new Draft(key, policy, order));
    }
    for (Map.Entry<String, JsonNode> client : tree.path("clients").properties()) {
      PolicyKey key = PolicyKey.ofClient(client.getKey());
      kept.add(key);
      addIfOther(drafts, state, texts, new Draft(key, client.getValue()));
    }
    for (Map.Entry<String, JsonNode> plan : tree.path("plans").properties()) {
      PolicyKey key = PolicyKey.ofPlan(plan.getKey());
      kept.add(key);
      addIfOther(drafts, state, texts, new Draft(key, plan.getValue()));
    }
    for (String setting : SETTINGS) {
      if (tree.has(setting)) {
        PolicyKey key = PolicyKey.ofSetting(setting);
        kept.add(key);
        ObjectNode content = PolicyEntryCodec.JSON.createObjectNode();
        content.set("value", tree.path(setting));
        addIfOther(drafts, state, texts, new Draft(key, content));
      }
    }
    for (PolicyEntry entry : state.entries()) {
      if (OF_FILES.contains(entry.key().kind())
          && !entry.isDeleted()
          && !kept.contains(entry.key())) {
        drafts.add(new Draft(entry.key(), null));
      }
    }
    return drafts;
  }

  private static void addIfOther(
      List<Draft> drafts, PolicyLogState state, ContentTexts texts, Draft draft) {
    PolicyEntry present = existing(state, draft.key());
    if (present == null || present.order() != draft.order()) {
      drafts.add(draft);
      return;
    }
    byte[] text = texts.of(draft.content());
    if (text == null || !present.hasContent(text)) {
      drafts.add(draft);
    }
  }

  /** Returns the entry of an existing key; null if the key does not exist. */
  static @Nullable PolicyEntry existing(PolicyLogState state, PolicyKey key) {
    PolicyEntry entry = state.entry(key);
    return entry == null || entry.isDeleted() ? null : entry;
  }

  private static long orderOf(PolicyLogState state, @Nullable PolicyEntry present) {
    if (present != null) {
      return present.order();
    }
    return 1 + state.policyEntries().stream().mapToLong(PolicyEntry::order).max().orElse(0);
  }

  /** Refuses a change if the key does not have the expected version. */
  static void requireSeen(PolicyKey key, @Nullable PolicyEntry present, long seen)
      throws RefusedException {
    long version = present == null ? 0 : present.version();
    boolean isSeen = seen == SOME_VERSION ? present != null : seen == version;
    if (seen != ANY_VERSION && !isSeen) {
      throw new RefusedException(
          Reason.CHANGED_SINCE,
          present == null
              ? "there is no " + key
              : "%s now has version %s, changed by %s; read it again, then repeat the change"
                  .formatted(key, version, present.changedBy()));
    }
  }
}
