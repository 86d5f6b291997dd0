// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import io.weir.aggregator.state.ByteStore;
import io.weir.aggregator.state.Packer;
import io.weir.aggregator.state.Unpacker;
import io.weir.limits.BucketKey;
import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.model.PartitionAccuracy;
import io.weir.topics.model.PartitionAccuracy.Figures;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * How right the cache's decisions in one partition were. Stored policy by policy, in the same
 * transaction as what is judged. Not safe for threads.
 */
final class AccuracyFigures {
  /** Most policies told apart; further ones are summed under {@value #OTHER}. */
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

  /** The figures of a policy, as they grow. */
  static final class Policy {
    private final String name;
    long decided;
    long wronglyAdmitted;
    long wronglyDenied;
    long driftNowTokens;
    long outageTokens;
    long outageOpenTokens;

    private Policy(String name) {
      this.name = name;
    }
  }

  AccuracyFigures(ByteStore store) {
    this.store = store;
    for (ByteStore.Entry entry : store.scan(FIRST_POLICY, BEHIND_LAST_POLICY, MAX_POLICIES + 1)) {
      Unpacker value = Unpacker.ofVersion(entry.value(), VERSION);
      Policy policy = new Policy(value.text());
      policy.decided = value.integer();
      policy.wronglyAdmitted = value.integer();
      policy.wronglyDenied = value.integer();
      policy.driftNowTokens = value.integer();
      policy.outageTokens = value.integer();
      policy.outageOpenTokens = value.integer();
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

  /** The figures of a bucket's policy; whoever asks is about to change them. */
  Policy ofBucket(String bucket) {
    String name = policyName(bucket);
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

  private static String policyName(String bucket) {
    try {
      return BucketKey.parse(bucket).policy().shown();
    } catch (IllegalArgumentException foreign) {
      return OTHER;
    }
  }

  void countCorrection(Cause cause) {
    corrections.merge(cause, 1L, Long::sum);
    totalsTouched = true;
  }

  /** Counts how long a disturbance lasted until a decision showed the correction. */
  void countDelay(long millis) {
    List<Long> bounds = PartitionAccuracy.DELAY_BOUNDS_MILLIS;
    int place = 0;
    while (place < bounds.size() && millis > bounds.get(place)) {
      place++;
    }
    delays[place]++;
    totalsTouched = true;
  }

  /** Writes what changed since the last time. */
  void save() {
    for (Policy policy : touched) {
      packer
          .reset()
          .integer(VERSION)
          .text(policy.name)
          .integer(policy.decided)
          .integer(policy.wronglyAdmitted)
          .integer(policy.wronglyDenied)
          .integer(policy.driftNowTokens)
          .integer(policy.outageTokens)
          .integer(policy.outageOpenTokens);
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

  /** Whether anything was saved since the last {@link #figures}. */
  boolean hasChanged() {
    return changed;
  }

  /** The figures, to be published. */
  PartitionAccuracy figures(int partition, long asOfMillis) {
    changed = false;
    Map<String, Figures> byPolicy = new HashMap<>();
    for (Policy policy : policies.values()) {
      byPolicy.put(
          policy.name,
          new Figures(
              policy.decided,
              policy.wronglyAdmitted,
              policy.wronglyDenied,
              policy.driftNowTokens,
              policy.outageTokens,
              policy.outageOpenTokens));
    }
    List<Long> counts = new ArrayList<>();
    for (long count : delays) {
      counts.add(count);
    }
    return new PartitionAccuracy(partition, asOfMillis, byPolicy, corrections, counts);
  }
}
