// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.ingest.policy.PolicyFile;
import io.weir.ingest.policy.PolicyReferences;
import io.weir.ingest.policy.log.PolicyLogState.InvalidPoliciesException;
import io.weir.ingest.policy.log.PolicyLogState.Timed;
import io.weir.limits.policy.ClientSettings;
import io.weir.limits.policy.Clients;
import io.weir.limits.policy.DefaultVerdict;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMode;
import io.weir.limits.policy.PolicySet;
import io.weir.limits.policy.UnknownClients;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Applies changes to a {@link PolicyLogState}, and validates the result. Used for one state only.
 * Not thread-safe.
 */
final class PolicyStateBuilder {
  private final SortedMap<PolicyKey, PolicyEntry> before;
  private final Map<PolicyKey, Timed> policies;
  private final Map<String, ClientSettings> settings;
  private final Map<String, Set<String>> plans;
  private final List<String> problems = new ArrayList<>();

  /** The valid settings of clients, by their text. Clients with equal settings share one object. */
  private final Map<ByteBuffer, Shared> sharedByText = new HashMap<>();

  private long version;
  private PolicyMode enforcement;

  @SuppressWarnings("ArrayRecordComponent") // never compared, never modified
  private record Shared(byte[] text, ClientSettings settings) {}

  PolicyStateBuilder(PolicyLogState before) {
    this.before = before.entries;
    this.policies = new HashMap<>(before.policies);
    this.settings = new HashMap<>(before.clients.settings());
    this.plans = new HashMap<>(before.clients.plans());
    this.version = before.version();
    this.enforcement = before.enforcement();
  }

  /** Returns the state after the changes, as {@link PolicyLogState#after} describes it. */
  PolicyLogState after(Collection<PolicyEntry> changes) throws InvalidPoliciesException {
    SortedMap<PolicyKey, PolicyEntry> changed = new TreeMap<>();
    for (PolicyEntry entry : changes) {
      changed.put(entry.key(), entry);
      version = Math.max(version, entry.version());
    }
    changed.replaceAll((key, entry) -> read(entry));
    SortedMap<PolicyKey, PolicyEntry> entries = merged(before, changed);
    requireAtMost(PolicySet.MAX_POLICIES, "policies", policies.size());
    requireAtMost(PolicyFile.MAX_PLANS, "plans", plans.size());
    if (settings.size() > PolicyFile.MAX_CLIENTS) {
      problems.add(
          "at most %s clients may have settings, but %s have"
              .formatted(PolicyFile.MAX_CLIENTS, settings.size()));
    }
    UnknownClients unknown =
        choice("unknown_clients", setting(entries, "unknown_clients"), UnknownClients.ALLOW);
    DefaultVerdict unmatched =
        choice("unmatched_calls", setting(entries, "unmatched_calls"), DefaultVerdict.ALLOW);
    Clients clients = new Clients(settings, plans, setting(entries, "default_plan"), unknown);
    if (problems.isEmpty()) {
      addReferenceProblems(clients);
    }
    if (!problems.isEmpty()) {
      throw new InvalidPoliciesException(problems);
    }
    return new PolicyLogState(version, entries, policies, clients, unmatched, enforcement);
  }

  /** Applies an entry. Returns the entry, possibly with a text that other entries share. */
  private PolicyEntry read(PolicyEntry entry) {
    switch (entry.key().kind()) {
      case POLICY -> readPolicy(entry);
      case CLIENT -> {
        return readClient(entry);
      }
      case PLAN -> readPlan(entry);
      case SETTING -> readSetting(entry);
      case SWITCH -> readSwitch(entry);
      case FILE -> {
        // a note for operators, which has no effect
      }
      case UNKNOWN -> {
        if (!entry.isDeleted()) {
          problems.add("'" + entry.key().name() + "' has an unknown kind");
        }
      }
    }
    return entry;
  }

  /**
   * Returns a map with the entries of both maps. For a key of both maps, the second map's entry
   * applies.
   */
  private static SortedMap<PolicyKey, PolicyEntry> merged(
      SortedMap<PolicyKey, PolicyEntry> entries, SortedMap<PolicyKey, PolicyEntry> changed) {
    // copying a sorted map takes linear time, so the larger one is copied
    if (entries.size() > changed.size()) {
      SortedMap<PolicyKey, PolicyEntry> merged = new TreeMap<>(entries);
      merged.putAll(changed);
      return merged;
    }
    NavigableMap<PolicyKey, PolicyEntry> merged = new TreeMap<>(changed);
    entries.forEach(merged::putIfAbsent);
    return merged;
  }

  private void requireAtMost(int most, String what, int count) {
    if (count > most) {
      problems.add("there must be at most " + most + " " + what + ", but there are " + count);
    }
  }

  /**
   * Checks references to policies twice: for the policies in force now, and for the policies in
   * force later.
   */
  private void addReferenceProblems(Clients clients) {
    Collection<Timed> timed = policies.values();
    problems.addAll(PolicyReferences.problems(timed.stream().map(Timed::policy).toList(), clients));
    if (timed.stream().allMatch(each -> each.before() == null)) {
      return;
    }
    List<Policy> now =
        timed.stream().map(each -> each.before() == null ? each.policy() : each.before()).toList();
    for (String problem : PolicyReferences.problems(now, clients)) {
      if (!problems.contains(problem)) {
        problems.add(problem);
      }
    }
  }

  private static @Nullable String setting(SortedMap<PolicyKey, PolicyEntry> entries, String name) {
    PolicyEntry entry = entries.get(PolicyKey.ofSetting(name));
    JsonNode content = entry == null ? null : entry.content();
    return content == null ? null : content.path("value").asText("");
  }

  private <E extends Enum<E>> E choice(String name, @Nullable String word, E absent) {
    if (word == null) {
      return absent;
    }
    List<String> words = new ArrayList<>();
    for (E constant : absent.getDeclaringClass().getEnumConstants()) {
      words.add(constant.name().toLowerCase(Locale.ROOT));
      if (words.contains(word)) {
        return constant;
      }
    }
    problems.add(name + " must be one of " + String.join(", ", words) + ", but is '" + word + "'");
    return absent;
  }

  private void readSetting(PolicyEntry entry) {
    JsonNode content = entry.content();
    if (content == null) {
      return;
    }
    String name = entry.key().name();
    if (!PolicyEdits.SETTINGS.contains(name)) {
      problems.add(entry.key() + " is not known");
    } else if (content.size() != 1 || !content.has("value")) {
      problems.add(entry.key() + " must have no member except 'value'");
    } else if (part(document -> document.set(name, content.path("value")))
        instanceof PolicyFile.Content.Invalid invalid) {
      problems.addAll(invalid.problems());
    }
  }

  private void readPlan(PolicyEntry entry) {
    String plan = entry.key().name();
    JsonNode content = entry.content();
    if (content == null) {
      plans.remove(plan);
      return;
    }
    PolicyFile.Content read = part(document -> document.putObject("plans").set(plan, content));
    if (read instanceof PolicyFile.Content.Invalid invalid) {
      problems.addAll(invalid.problems());
    } else if (read instanceof PolicyFile.Content.Valid valid) {
      plans.putAll(valid.policies().clients().plans());
    }
  }

  /** Reads a part of a policy file: the fields that {@code added} sets, without policies. */
  private static PolicyFile.Content part(Consumer<ObjectNode> added) {
    ObjectNode document = PolicyEntryCodec.JSON.createObjectNode();
    document.putArray("policies");
    added.accept(document);
    return PolicyFile.part(document);
  }

  private void readPolicy(PolicyEntry entry) {
    JsonNode content = entry.content();
    if (content == null) {
      policies.remove(entry.key());
      return;
    }
    Policy policy = policy(entry.key(), content);
    JsonNode untilThen = entry.untilThen();
    Policy untilThenInForce = untilThen == null ? null : policy(entry.key(), untilThen);
    if (policy != null) {
      long fromMillis = PolicyLogState.effectiveFromMillis(content);
      policies.put(entry.key(), new Timed(policy, fromMillis, untilThenInForce));
    }
  }

  private @Nullable Policy policy(PolicyKey key, JsonNode content) {
    String at = "policies['" + key.name() + "']";
    PolicyFile.Content read = part(document -> document.withArray("policies").add(content));
    if (read instanceof PolicyFile.Content.Invalid invalid) {
      invalid.problems().forEach(problem -> problems.add(problem.replace("policies[0]", at)));
      return null;
    }
    Policy policy = ((PolicyFile.Content.Valid) read).policies().policies().get(0);
    if (!policy.name().equals(key.name())) {
      problems.add(at + ".name must be '" + key.name() + "'");
      return null;
    }
    return policy;
  }

  /**
   * Reads the settings of a client. Entries with equal settings share one text; returns the entry
   * with this text.
   */
  private PolicyEntry readClient(PolicyEntry entry) {
    String client = entry.key().name();
    byte[] text = entry.contentText();
    if (text == null) {
      settings.remove(client);
      return entry;
    }
    Shared known = sharedByText.get(ByteBuffer.wrap(text));
    if (known == null) {
      int problemsBefore = problems.size();
      ClientSettings read =
          PolicyFile.client(client, PolicyEntryCodec.tree(text), problems::addAll);
      known = new Shared(text, read);
      if (problems.size() == problemsBefore) {
        sharedByText.put(ByteBuffer.wrap(text), known);
      }
    } else {
      PolicyFile.refuseBadClient(client, problems::addAll);
    }
    settings.put(client, known.settings);
    return entry.sharing(known.text);
  }

  private void readSwitch(PolicyEntry entry) {
    if (!entry.key().equals(PolicyKey.ENFORCEMENT)) {
      if (!entry.isDeleted()) {
        problems.add(entry.key() + " is not known");
      }
      return;
    }
    JsonNode content = entry.content();
    String word = content == null ? null : content.path("mode").asText("");
    enforcement = choice("mode", word, PolicyMode.ENFORCE);
  }
}
