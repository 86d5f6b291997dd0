// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import io.weir.aggregator.audit.bucket.AuditEffect;
import io.weir.aggregator.state.ByteStore;
import io.weir.aggregator.state.Packer;
import io.weir.aggregator.state.StoredMembers;
import io.weir.aggregator.state.Unpacker;
import io.weir.limits.BucketKey;
import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.model.Charge;
import io.weir.topics.model.PartitionAccuracy;
import io.weir.topics.model.PartitionAccuracy.Figures;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * The numbers of wrong decisions of the cache in one partition, by policy. Each policy has one
 * entry in the store, which is written in the same transaction as the audits. Not thread-safe.
 */
final class AccuracyFigures {
  /**
   * Maximum number of policies with their own figures. The figures of all other policies are summed
   * as {@value #OTHER}.
   */
  static final int MAX_POLICIES = 1_000;

  static final String OTHER = "(other)";

  private static final int VERSION = 1;
  private static final byte[] FIRST_POLICY = {'a'};
  private static final byte[] BEHIND_LAST_POLICY = {'b'};
  private static final byte[] TOTALS_KEY = {'A'};

  private final ByteStore store;
  private final Packer packer = new Packer();
  private final Map<String, Policy> policies = new HashMap<>();
  private final Set<Policy> touched = new HashSet<>();
  private final Map<Cause, Long> corrections = new EnumMap<>(Cause.class);
  private final long[] delays = new long[PartitionAccuracy.DELAY_BOUNDS_MILLIS.size() + 1];
  private boolean totalsTouched;
  private boolean changed = true;

  /** The figures of one policy. */
  static final class Policy {
    private final String name;
    private long decided;
    private long wronglyAdmitted;
    private long wronglyDenied;
    private long driftNowTokens;
    private long outageTokens;
    private long outageOpenTokens;

    private Policy(String name) {
      this.name = name;
    }

    /** Writes or reads the figures. */
    private void store(StoredMembers members) {
      decided = members.integer(decided);
      wronglyAdmitted = members.integer(wronglyAdmitted);
      wronglyDenied = members.integer(wronglyDenied);
      driftNowTokens = members.integer(driftNowTokens);
      outageTokens = members.integer(outageTokens);
      outageOpenTokens = members.integer(outageOpenTokens);
    }

    private Figures toFigures() {
      return new Figures(
          decided, wronglyAdmitted, wronglyDenied, driftNowTokens, outageTokens, outageOpenTokens);
    }

    /**
     * Counts a charge. A charge with a stamp is a decision of the cache. The tokens of a charge
     * without a stamp were admitted without the cache.
     */
    void count(Charge charge) {
      if (charge.stamp() == null) {
        outageTokens += charge.cost();
      } else {
        decided++;
      }
    }

    /** Adds the effect of one step of a bucket's audit. */
    void add(AuditEffect effect) {
      wronglyAdmitted += effect.wronglyAdmitted();
      wronglyDenied += effect.wronglyDenied();
      driftNowTokens += effect.driftTokens();
      outageOpenTokens += effect.outageTokens();
    }
  }

  /** Loads the figures from a store. */
  AccuracyFigures(ByteStore store) {
    this.store = store;
    for (ByteStore.Entry entry : store.scan(FIRST_POLICY, BEHIND_LAST_POLICY, MAX_POLICIES + 1)) {
      Unpacker value = Unpacker.ofVersion(entry.value(), VERSION);
      Policy policy = new Policy(value.text());
      policy.store(value.members());
      policies.put(policy.name, policy);
    }
    byte[] totals = store.get(TOTALS_KEY);
    if (totals != null) {
      Unpacker value = Unpacker.ofVersion(totals, VERSION);
      for (int causes = value.count(); causes > 0; causes--) {
        corrections.put(Cause.ofWireName(value.text()), value.integer());
      }
      for (int i = 0; i < delays.length; i++) {
        delays[i] = value.integer();
      }
    }
  }

  /** Returns the figures of a bucket's policy and marks them as changed. */
  Policy ofBucket(String bucket) {
    String name = Objects.requireNonNullElse(BucketKey.policyShown(bucket), OTHER);
    Policy policy = policies.get(name);
    if (policy == null && policies.size() >= MAX_POLICIES) {
      policy = policies.computeIfAbsent(OTHER, Policy::new);
    } else if (policy == null) {
      policy = new Policy(name);
      policies.put(name, policy);
    }
    touched.add(policy);
    return policy;
  }

  /** Counts a published correction. */
  void countCorrection(Cause cause) {
    corrections.merge(cause, 1L, Long::sum);
    totalsTouched = true;
  }

  /**
   * Counts the time between a fault of the cache and the decision that confirmed the correction of
   * the fault.
   */
  void countDelay(long millis) {
    List<Long> bounds = PartitionAccuracy.DELAY_BOUNDS_MILLIS;
    int place = 0;
    while (place < bounds.size() && millis > bounds.get(place)) {
      place++;
    }
    delays[place]++;
    totalsTouched = true;
  }

  /** Stores the figures that have changed since the last call of this method. */
  void save() {
    for (Policy policy : touched) {
      policy.store(packer.reset().integer(VERSION).text(policy.name).members());
      store.put(key(policy.name), packer.toBytes());
    }
    if (totalsTouched) {
      packer.reset().integer(VERSION).integer(corrections.size());
      corrections.forEach((cause, count) -> packer.text(cause.wireName()).integer(count));
      for (long count : delays) {
        packer.integer(count);
      }
      store.put(TOTALS_KEY, packer.toBytes());
    }
    changed |= totalsTouched || !touched.isEmpty();
    touched.clear();
    totalsTouched = false;
  }

  private static byte[] key(String policy) {
    return ("a" + policy).getBytes(StandardCharsets.UTF_8);
  }

  /** Returns whether figures were saved since the last call of {@link #figures}. */
  boolean hasChanged() {
    return changed;
  }

  /**
   * Returns the figures for publication. After this call, {@link #hasChanged} returns false until
   * figures are saved again.
   */
  PartitionAccuracy figures(int partition, long asOfMillis) {
    changed = false;
    Map<String, Figures> byPolicy = new HashMap<>();
    for (Policy policy : policies.values()) {
      byPolicy.put(policy.name, policy.toFigures());
    }
    List<Long> counts = new ArrayList<>();
    for (long count : delays) {
      counts.add(count);
    }
    return new PartitionAccuracy(partition, asOfMillis, byPolicy, corrections, counts);
  }
}
