// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.ingest.policy.PolicyFile;
import io.weir.limits.policy.Clients;
import io.weir.limits.policy.DefaultVerdict;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMode;
import io.weir.limits.policy.PolicySet;
import java.time.DateTimeException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
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
  final SortedMap<PolicyKey, PolicyEntry> entries;
  final Map<PolicyKey, Timed> policies;
  final Clients clients;
  private final DefaultVerdict unmatchedCalls;
  private final PolicyMode enforcement;

  PolicyLogState(
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
   *     0 if the policy has no start time
   * @param before the policy in force before {@code fromMillis}; null for none
   */
  record Timed(Policy policy, long fromMillis, @Nullable Policy before) {
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

    /** Returns at least one problem; each problem is one sentence. */
    public List<String> problems() {
      return problems;
    }
  }

  /**
   * Returns a policy in its own mode or in the mode of the enforcement switch, whichever is weaker.
   */
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
    // if the switch weakens the mode, unknown clients and unmatched calls also pass
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

  /** Returns the newest entry of a key; null if the key was never written. */
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
   * @param changes the changes in the order of their versions; if two changes write the same key,
   *     the later change applies
   * @throws InvalidPoliciesException if the resulting state is invalid
   */
  public PolicyLogState after(Collection<PolicyEntry> changes) throws InvalidPoliciesException {
    return new PolicyStateBuilder(this).after(changes);
  }

  /**
   * Returns the state that consists only of a file. The state has version 0. A node uses this state
   * until the node has read the log.
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
}
