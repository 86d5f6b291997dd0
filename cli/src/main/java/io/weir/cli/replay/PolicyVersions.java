// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import io.weir.ingest.policy.log.PolicyEntry;
import io.weir.ingest.policy.log.PolicyKey;
import io.weir.ingest.policy.log.PolicyLogState;
import io.weir.limits.policy.PolicySet;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The policies of each version, rebuilt from the log of policies. Thread-safe.
 *
 * <p>Compaction removes entries that were replaced and are older than 400 days. A version is
 * unknown if two conditions hold. An entry of this version or of an earlier version is missing.
 * Some key first occurs after this version, so that the missing entry may have that key.
 */
final class PolicyVersions {
  /** Maximum number of versions in memory. Rebuilding one version reads all entries up to it. */
  private static final int MAX_KEPT = 16;

  private final NavigableMap<Long, List<PolicyEntry>> entries = new TreeMap<>();
  private final @Nullable PolicySet file;
  private final Map<Long, PolicyLogState> kept =
      new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Long, PolicyLogState> eldest) {
          return size() > MAX_KEPT;
        }
      };

  /** The version at which the last new key occurs. */
  private final long lastFirst;

  /** The least version with a missing entry; {@link Long#MAX_VALUE} if none is missing. */
  private final long firstIncomplete;

  /**
   * Creates the versions of a log.
   *
   * @param read every entry of the log; the entries of each topic must be in order
   * @param file the policies of version 0; null if they are unknown
   */
  PolicyVersions(List<PolicyEntry> read, @Nullable PolicySet file) {
    this.file = file;
    for (PolicyEntry entry : read) {
      entries.computeIfAbsent(entry.version(), version -> new ArrayList<>()).add(entry);
    }
    Set<PolicyKey> met = new HashSet<>();
    long last = 0;
    long incomplete = Long.MAX_VALUE;
    long expected = 1;
    for (Map.Entry<Long, List<PolicyEntry>> each : entries.entrySet()) {
      long version = each.getKey();
      if (version > expected) {
        incomplete = Math.min(incomplete, expected);
      }
      expected = version + 1;
      if (isIncomplete(version, each.getValue())) {
        incomplete = Math.min(incomplete, version);
      }
      for (PolicyEntry entry : each.getValue()) {
        last = met.add(entry.key()) ? version : last;
      }
    }
    this.lastFirst = last;
    this.firstIncomplete = incomplete;
  }

  private static boolean isIncomplete(long version, List<PolicyEntry> found) {
    Map<Boolean, Integer> parts = new HashMap<>();
    for (PolicyEntry entry : found) {
      parts.put(entry.key().kind() == PolicyKey.Kind.CLIENT, entry.change().parts());
    }
    return found.size() < parts.values().stream().mapToInt(Integer::intValue).sum()
        || found.stream()
            .map(PolicyEntry::change)
            .anyMatch(
                change ->
                    (change.policiesVersion() == version && !parts.containsKey(false))
                        || (change.clientsVersion() == version && !parts.containsKey(true)));
  }

  /**
   * Returns the policies of a version at a time; null if they are unknown.
   *
   * @param epochMillis time of calls that this version decided
   */
  @Nullable Segment at(long version, long epochMillis) {
    if (version == 0) {
      return file == null ? null : new Segment(file, Long.MIN_VALUE, Long.MAX_VALUE);
    }
    PolicyLogState state = state(version);
    if (state == null) {
      return null;
    }
    long from = 0;
    long until = state.nextMillis(from);
    while (until <= epochMillis) {
      from = until;
      until = state.nextMillis(from);
    }
    return new Segment(state.set(from), from == 0 ? Long.MIN_VALUE : from, until);
  }

  /**
   * The policies of a version that are in force in an interval.
   *
   * @param fromMillis start of the interval
   * @param untilMillis exclusive end of the interval
   */
  record Segment(PolicySet policies, long fromMillis, long untilMillis) {}

  private synchronized @Nullable PolicyLogState state(long version) {
    if (!entries.containsKey(version) || (firstIncomplete <= version && lastFirst > version)) {
      return null;
    }
    PolicyLogState known = kept.get(version);
    if (known != null) {
      return known;
    }
    PolicyLogState from = PolicyLogState.EMPTY;
    for (PolicyLogState state : kept.values()) {
      if (state.version() <= version && state.version() > from.version()) {
        from = state;
      }
    }
    try {
      PolicyLogState built =
          from.after(
              entries.subMap(from.version(), false, version, true).values().stream()
                  .flatMap(List::stream)
                  .toList());
      kept.put(version, built);
      return built;
    } catch (PolicyLogState.InvalidPoliciesException notReadable) {
      return null; // written by a newer release, or by another program
    }
  }
}
