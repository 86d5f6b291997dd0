// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.ingest.policy.PolicyFile;
import io.weir.ingest.policy.PolicyReferences;
import io.weir.limits.policy.ClientSettings;
import io.weir.limits.policy.Clients;
import io.weir.limits.policy.DefaultVerdict;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMode;
import io.weir.limits.policy.PolicySet;
import io.weir.limits.policy.UnknownClients;
import java.nio.ByteBuffer;
import java.time.DateTimeException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The content of the policy log as of one version: the newest entry of every key, and the policies
 * that nodes enforce. Immutable.
 */
public final class PolicyLogState {
  private static final Comparator<PolicyEntry> IN_ORDER =
      Comparator.comparingLong(PolicyEntry::order).thenComparing(PolicyEntry::key);

  /** The state of an empty log. */
  public static final PolicyLogState EMPTY =
      new PolicyLogState(
          0, new TreeMap<>(), Map.of(), Clients.NONE, DefaultVerdict.ALLOW, PolicyMode.ENFORCE);

  private final long version;
  private final SortedMap<PolicyKey, PolicyEntry> entries;
  private final Map<PolicyKey, Timed> policies;
  private final Clients clients;
  private final DefaultVerdict unmatchedCalls;
  private final PolicyMode enforcement;

  private PolicyLogState(
      long version,
      SortedMap<PolicyKey, PolicyEntry> entries,
      Map<PolicyKey, Timed> policies,
      Clients clients,
      DefaultVerdict unmatchedCalls,
      PolicyMode enforcement) {
    this.version = version;
    this.entries = entries;
    this.policies = policies;
    this.clients = clients;
    this.unmatchedCalls = unmatchedCalls;
    this.enforcement = enforcement;
  }

  /**
   * A policy with its start time, and the earlier policy that it replaces.
   *
   * @param policy the policy in force from {@code fromMillis} on
   * @param fromMillis time from which {@code policy} is in force, in milliseconds since the epoch;
   *     0 if it has no start
   * @param before the policy in force until then; null for none
   */
  private record Timed(Policy policy, long fromMillis, @Nullable Policy before) {
    @Nullable Policy at(long epochMillis) {
      return fromMillis <= epochMillis ? policy : before;
    }
  }

  /** Thrown when a change leads to an invalid state. The message names every problem. */
  public static final class InvalidPoliciesException extends Exception {
    private static final long serialVersionUID = 1L;

    private final transient List<String> problems;

    InvalidPoliciesException(List<String> problems) {
      super(String.join("; ", problems));
      this.problems = List.copyOf(problems);
    }

    /** Returns the problems, one sentence each; at least one. */
    public List<String> problems() {
      return problems;
    }
  }

  /** Returns a policy in the weaker of its own mode and the mode of the enforcement switch. */
  private Policy switched(Policy policy) {
    return enforcement.compareTo(policy.mode()) > 0 ? policy.inMode(enforcement) : policy;
  }

  /** Returns the version; 0 for an empty log. */
  public long version() {
    return version;
  }

  /** Returns the policy set in force at the given time, with the enforcement switch applied. */
  public PolicySet set(long epochMillis) {
    List<Policy> inForce = new ArrayList<>();
    for (PolicyEntry entry : policyEntries()) {
      Timed timed = policies.get(entry.key());
      Policy policy = timed == null ? null : timed.at(epochMillis);
      if (policy != null) {
        inForce.add(switched(policy));
      }
    }
    if (enforcement == PolicyMode.ENFORCE) {
      return new PolicySet(version, inForce, clients, unmatchedCalls);
    }
    // with the switch, unknown clients and unmatched calls also pass
    return new PolicySet(version, inForce, clients.allowingUnknown());
  }

  /**
   * Returns the next time at which a policy of this version takes effect; {@link Long#MAX_VALUE} if
   * there is none.
   */
  public long nextMillis(long epochMillis) {
    return policies.values().stream()
        .mapToLong(Timed::fromMillis)
        .filter(from -> from > epochMillis)
        .min()
        .orElse(Long.MAX_VALUE);
  }

  /**
   * Returns the time from which a policy is in force, in milliseconds since the epoch; 0 if the
   * time is not set or invalid.
   */
  static long effectiveFromMillis(JsonNode policy) {
    try {
      return PolicyFile.effectiveFromMillis(policy);
    } catch (DateTimeException invalid) {
      return 0; // the reader of the policy refuses it
    }
  }

  /** Returns the strongest mode that the enforcement switch permits. */
  public PolicyMode enforcement() {
    return enforcement;
  }

  /** Returns the current entry of a key; null if it was never written. */
  public @Nullable PolicyEntry entry(PolicyKey key) {
    return entries.get(key);
  }

  /** Returns the newest entry of every key, including deleted keys, ordered by key. */
  public Collection<PolicyEntry> entries() {
    return entries.values();
  }

  /** Returns the entries of the existing policies, in their order. */
  public List<PolicyEntry> policyEntries() {
    return existing(PolicyKey.Kind.POLICY).sorted(IN_ORDER).toList();
  }

  /** Returns the entries of the clients with settings, ordered by name. */
  public List<PolicyEntry> clientEntries() {
    return existing(PolicyKey.Kind.CLIENT).toList();
  }

  private Stream<PolicyEntry> existing(PolicyKey.Kind kind) {
    return entries.values().stream()
        .filter(entry -> entry.key().kind() == kind && !entry.isDeleted());
  }

  /** Returns all policies, plans, settings and clients in the form of a policy file. */
  public ObjectNode document() {
    ObjectNode document = PolicyEntryCodec.JSON.createObjectNode();
    ArrayNode list = document.putArray("policies");
    policyEntries().forEach(entry -> list.add(entry.content()));
    put(document, "plans", existing(PolicyKey.Kind.PLAN).toList());
    existing(PolicyKey.Kind.SETTING)
        .forEach(
            entry -> {
              JsonNode content = entry.content();
              if (content != null) {
                document.set(entry.key().name(), content.path("value"));
              }
            });
    put(document, "clients", clientEntries());
    return document;
  }

  private static void put(ObjectNode document, String field, List<PolicyEntry> entries) {
    if (!entries.isEmpty()) {
      ObjectNode byName = document.putObject(field);
      entries.forEach(entry -> byName.set(entry.key().name(), entry.content()));
    }
  }

  /**
   * Returns the state after the given changes.
   *
   * @param changes the changes in the order of their versions; of two changes of a key, the later
   *     one applies
   * @throws InvalidPoliciesException if the resulting state is invalid
   */
  public PolicyLogState after(Collection<PolicyEntry> changes) throws InvalidPoliciesException {
    SortedMap<PolicyKey, PolicyEntry> changed = new TreeMap<>();
    long next = version;
    for (PolicyEntry entry : changes) {
      changed.put(entry.key(), entry);
      next = Math.max(next, entry.version());
    }
    Map<PolicyKey, Timed> nextPolicies = new HashMap<>(policies);
    Map<String, ClientSettings> nextSettings = new HashMap<>(clients.settings());
    Map<String, Set<String>> nextPlans = new HashMap<>(clients.plans());
    PolicyMode mode = enforcement;
    List<String> problems = new ArrayList<>();
    SharedSettings shared = new SharedSettings();
    for (Map.Entry<PolicyKey, PolicyEntry> each : changed.entrySet()) {
      PolicyEntry entry = each.getValue();
      switch (entry.key().kind()) {
        case POLICY -> readPolicy(entry, nextPolicies, problems);
        case CLIENT -> each.setValue(shared.read(entry, nextSettings, problems));
        case PLAN -> readPlan(entry, nextPlans, problems);
        case SETTING -> readSetting(entry, problems);
        case SWITCH -> mode = mode(entry, mode, problems);
        case FILE -> {
          // a note for operators, which has no effect
        }
        case UNKNOWN -> {
          if (!entry.isDeleted()) {
            problems.add("'" + entry.key().name() + "' has an unknown kind");
          }
        }
      }
    }
    SortedMap<PolicyKey, PolicyEntry> nextEntries = merged(entries, changed);
    if (nextPolicies.size() > PolicySet.MAX_POLICIES) {
      problems.add(
          "there must be at most "
              + PolicySet.MAX_POLICIES
              + " policies, but there are "
              + ""
              + nextPolicies.size());
    }
    if (nextPlans.size() > PolicyFile.MAX_PLANS) {
      problems.add(
          "there must be at most "
              + PolicyFile.MAX_PLANS
              + " plans, but there are "
              + ""
              + nextPlans.size());
    }
    if (nextSettings.size() > PolicyFile.MAX_CLIENTS) {
      problems.add(
          "at most "
              + PolicyFile.MAX_CLIENTS
              + " clients may have settings, but "
              + ""
              + nextSettings.size()
              + " have");
    }
    Clients nextClients =
        new Clients(
            nextSettings,
            nextPlans,
            setting(nextEntries, "default_plan"),
            choice(
                nextEntries,
                "unknown_clients",
                UnknownClients.class,
                UnknownClients.ALLOW,
                problems));
    DefaultVerdict unmatched =
        choice(
            nextEntries, "unmatched_calls", DefaultVerdict.class, DefaultVerdict.ALLOW, problems);
    if (problems.isEmpty()) {
      problems.addAll(references(nextPolicies.values(), nextClients));
    }
    if (!problems.isEmpty()) {
      throw new InvalidPoliciesException(problems);
    }
    return new PolicyLogState(next, nextEntries, nextPolicies, nextClients, unmatched, mode);
  }

  /** Returns both maps in one; an entry of the second one replaces that of the first. */
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

  /**
   * Checks references to policies for every time: for the policies in force now, and for those in
   * force later.
   */
  private static List<String> references(Collection<Timed> policies, Clients clients) {
    List<String> problems =
        new ArrayList<>(
            PolicyReferences.problems(policies.stream().map(Timed::policy).toList(), clients));
    if (policies.stream().allMatch(timed -> timed.before == null)) {
      return problems;
    }
    List<Policy> before =
        policies.stream().map(timed -> timed.before == null ? timed.policy : timed.before).toList();
    for (String problem : PolicyReferences.problems(before, clients)) {
      if (!problems.contains(problem)) {
        problems.add(problem);
      }
    }
    return problems;
  }

  private static @Nullable String setting(SortedMap<PolicyKey, PolicyEntry> entries, String name) {
    PolicyEntry entry = entries.get(PolicyKey.ofSetting(name));
    JsonNode content = entry == null ? null : entry.content();
    return content == null ? null : content.path("value").asText("");
  }

  private static <E extends Enum<E>> E choice(
      SortedMap<PolicyKey, PolicyEntry> entries,
      String name,
      Class<E> type,
      E absent,
      List<String> problems) {
    String word = setting(entries, name);
    if (word == null) {
      return absent;
    }
    List<String> words = new ArrayList<>();
    for (E constant : type.getEnumConstants()) {
      words.add(constant.name().toLowerCase(Locale.ROOT));
      if (words.contains(word)) {
        return constant;
      }
    }
    problems.add(name + " must be one of " + String.join(", ", words) + ", but is '" + word + "'");
    return absent;
  }

  private static void readSetting(PolicyEntry entry, List<String> problems) {
    JsonNode content = entry.content();
    if (content == null) {
      return;
    }
    String name = entry.key().name();
    if (!PolicyEdits.SETTINGS.contains(name)) {
      problems.add(entry.key() + " is not known");
    } else if (content.size() != 1 || !content.has("value")) {
      problems.add(entry.key() + " must have only the member value");
    } else {
      addProblems(part(document -> document.set(name, content.path("value"))), problems);
    }
  }

  private static void readPlan(
      PolicyEntry entry, Map<String, Set<String>> plans, List<String> problems) {
    String plan = entry.key().name();
    JsonNode content = entry.content();
    if (content == null) {
      plans.remove(plan);
      return;
    }
    PolicyFile.Content read = part(document -> document.putObject("plans").set(plan, content));
    addProblems(read, problems);
    if (read instanceof PolicyFile.Content.Valid valid) {
      plans.putAll(valid.policies().clients().plans());
    }
  }

  /** Reads a part of a policy file, which {@code added} adds to a file without policies. */
  private static PolicyFile.Content part(Consumer<ObjectNode> added) {
    ObjectNode document = PolicyEntryCodec.JSON.createObjectNode();
    document.putArray("policies");
    added.accept(document);
    return PolicyFile.part(document);
  }

  private static void addProblems(PolicyFile.Content read, List<String> problems) {
    if (read instanceof PolicyFile.Content.Invalid invalid) {
      problems.addAll(invalid.problems());
    }
  }

  /**
   * Returns the state that consists only of a file. It has version 0, and serves a node that has
   * not read the log yet.
   *
   * @throws InvalidPoliciesException if the file is not valid
   */
  static PolicyLogState ofFile(AppliedFile file) throws InvalidPoliciesException {
    List<PolicyEntry> entries = new ArrayList<>();
    for (PolicyEditor.Draft draft : PolicyEdits.drafts(EMPTY, file.tree())) {
      entries.add(
          new PolicyEntry(
              draft.key(),
              new PolicyEntry.Change(1, 1, 1, 0, 0, file.name(), ""),
              draft.order(),
              draft.content(),
              null));
    }
    PolicyLogState read = EMPTY.after(entries);
    return new PolicyLogState(
        0, read.entries, read.policies, read.clients, read.unmatchedCalls, read.enforcement);
  }

  private static void readPolicy(
      PolicyEntry entry, Map<PolicyKey, Timed> policies, List<String> problems) {
    JsonNode content = entry.content();
    if (content == null) {
      policies.remove(entry.key());
      return;
    }
    Policy policy = policy(entry.key(), content, problems);
    JsonNode untilThen = entry.untilThen();
    Policy before = untilThen == null ? null : policy(entry.key(), untilThen, problems);
    if (policy != null) {
      policies.put(entry.key(), new Timed(policy, effectiveFromMillis(content), before));
    }
  }

  private static @Nullable Policy policy(PolicyKey key, JsonNode content, List<String> problems) {
    PolicyFile.Content read = part(document -> document.withArray("policies").add(content));
    if (read instanceof PolicyFile.Content.Invalid invalid) {
      invalid.problems().forEach(problem -> problems.add(problem.replace("policies[0]", at(key))));
      return null;
    }
    Policy policy = ((PolicyFile.Content.Valid) read).policies().policies().get(0);
    if (!policy.name().equals(key.name())) {
      problems.add(at(key) + ".name must be '" + key.name() + "'");
      return null;
    }
    return policy;
  }

  private static String at(PolicyKey key) {
    return "policies['" + key.name() + "']";
  }

  /**
   * Reads the settings of clients. Clients with equal settings share one settings object and one
   * text.
   */
  private static final class SharedSettings {
    private final Map<ByteBuffer, Shared> byText = new HashMap<>();

    @SuppressWarnings("ArrayRecordComponent") // never compared, never modified
    private record Shared(byte[] text, ClientSettings settings) {}

    /** Adds the settings of an entry to the map. Returns the entry with the shared text. */
    PolicyEntry read(
        PolicyEntry entry, Map<String, ClientSettings> settings, List<String> problems) {
      String client = entry.key().name();
      byte[] text = entry.contentText();
      if (text == null) {
        settings.remove(client);
        return entry;
      }
      Shared known = byText.get(ByteBuffer.wrap(text));
      if (known == null) {
        int before = problems.size();
        ClientSettings read =
            PolicyFile.client(client, PolicyEntryCodec.tree(text), problems::addAll);
        known = new Shared(text, read);
        if (problems.size() == before) {
          byText.put(ByteBuffer.wrap(text), known);
        }
      } else {
        PolicyFile.refuseBadClient(client, problems::addAll);
      }
      settings.put(client, known.settings);
      return entry.sharing(known.text);
    }
  }

  private static PolicyMode mode(PolicyEntry entry, PolicyMode present, List<String> problems) {
    if (!entry.key().equals(PolicyKey.ENFORCEMENT)) {
      if (!entry.isDeleted()) {
        problems.add(entry.key() + " is not known");
      }
      return present;
    }
    JsonNode content = entry.content();
    String word = content == null ? "enforce" : content.path("mode").asText("");
    for (PolicyMode mode : PolicyMode.values()) {
      if (mode.name().toLowerCase(Locale.ROOT).equals(word)) {
        return mode;
      }
    }
    problems.add("mode must be one of enforce, shadow, off, but is '" + word + "'");
    return present;
  }
}
