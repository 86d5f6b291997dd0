// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.aggregator.count.CountSettings;
import io.weir.limits.CalendarPeriod;
import io.weir.limits.CalendarQuota;
import io.weir.limits.FixedWindow;
import io.weir.limits.PeriodicLimit;
import io.weir.limits.PolicyLimit;
import io.weir.limits.SlidingWindow;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.policy.CacheFailureMode;
import io.weir.limits.policy.ColdCacheMode;
import io.weir.limits.policy.KeyPart;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMatch;
import io.weir.limits.policy.PolicyMode;
import io.weir.limits.policy.PolicySet;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * The size, settings and faults of the world that a seed determines. Each world has only a few
 * kinds of faults, because too many faults at once hide bugs. This method is swarm testing (Groce,
 * Zhang, Eide, Chen, Regehr, ISSTA 2012).
 *
 * @param nodes number of ingest nodes
 * @param partitions number of partitions of each topic
 * @param clients number of clients
 * @param policies the limits
 * @param settings durations of the aggregator
 * @param faults the faults that may occur
 * @param faultGapMillis mean time between two faults
 * @param callGapMicros mean time between two calls
 * @param beginsCold whether Redis begins empty and not restored
 */
record Plan(
    int nodes,
    int partitions,
    int clients,
    PolicySet policies,
    CountSettings settings,
    Set<Fault> faults,
    long faultGapMillis,
    long callGapMicros,
    boolean beginsCold) {

  /** Length of a ledger window. */
  static final long WINDOW_MILLIS = 5_000;

  /**
   * The grace. Without faults, the grace is longer than the difference of two clocks plus the time
   * that a batch needs to arrive.
   */
  static final long GRACE_MILLIS = 2_000;

  private static final long LATENESS_MILLIS = 600_000;

  Plan {
    // the order must be fixed; the sets of the JDK's factories have no fixed order
    faults = Collections.unmodifiableSet(new TreeSet<>(faults));
  }

  static Plan draw(Chance chance) {
    Set<Fault> faults = EnumSet.noneOf(Fault.class);
    int inThousand = chance.pick(List.of(60, 150, 300, 600));
    for (Fault fault : Fault.values()) {
      if (chance.permille(inThousand)) {
        faults.add(fault);
      }
    }
    return new Plan(
            chance.between(1, 3),
            chance.between(1, 3),
            chance.between(1, 5),
            policies(chance),
            ofMaxHold(chance.pick(List.of(12_000L, 25_000L, 60_000L))),
            faults,
            chance.pick(List.of(700L, 2_000L, 5_000L)),
            chance.pick(List.of(50_000L, 100_000L, 250_000L)),
            chance.percent(20))
        .ofMaxEndpoints(chance.pick(List.of(1, 2, 3, 1_000)));
  }

  private static CountSettings ofMaxHold(long maxHoldMillis) {
    return new CountSettings(WINDOW_MILLIS, GRACE_MILLIS, maxHoldMillis, LATENESS_MILLIS);
  }

  /**
   * Sets the maximum number of endpoints. The random generator draws this number last, so that the
   * other values of a seed stay the same.
   */
  private Plan ofMaxEndpoints(int maxEndpoints) {
    CountSettings settled =
        new CountSettings(
            settings.windowMillis(),
            settings.graceMillis(),
            settings.maxHoldMillis(),
            settings.latenessMillis(),
            maxEndpoints);
    return new Plan(
        nodes,
        partitions,
        clients,
        policies,
        settled,
        faults,
        faultGapMillis,
        callGapMicros,
        beginsCold);
  }

  boolean has(Fault fault) {
    return faults.contains(fault);
  }

  private static PolicySet policies(Chance chance) {
    List<Policy> policies = new ArrayList<>();
    long burst = chance.between(3L, 15L);
    policies.add(
        policy(
            chance,
            "burst",
            List.of("GET /a", "GET /ab"),
            new TokenBucketLimit(burst, chance.between(2L, 9L), 1_000_000)));
    policies.add(
        policy(
            chance,
            "slow",
            List.of("GET /b", "GET /ab"),
            new TokenBucketLimit(
                chance.between(5L, 20L), 1, chance.pick(List.of(333_333L, 700_000L, 1_500_000L)))));
    policies.add(policy(chance, "day", List.of("GET /q", "GET /aq"), periodic(chance)));
    if (chance.percent(30)) {
      policies.add(
          new Policy(
              "watched",
              match(List.of("GET /a", "GET /aq")),
              List.of(KeyPart.CLIENT),
              new TokenBucketLimit(chance.between(2L, 8L), 3, 1_000_000),
              PolicyMode.SHADOW,
              CacheFailureMode.OPEN));
    }
    return new PolicySet(1, policies);
  }

  private static PolicyLimit periodic(Chance chance) {
    long capacity = chance.between(20L, 150L);
    if (!chance.percent(30)) {
      return new CalendarQuota(
          capacity, CalendarPeriod.DAY, ZoneOffset.UTC, CalendarQuota.FIRST_OF_MONTH);
    }
    long length = chance.pick(List.of(7L, 20L, 3_600L));
    if (capacity % 2 == 0) {
      return new SlidingWindow(capacity, length, capacity % 4 == 0 || length == 7 ? 1 : 4);
    }
    return new FixedWindow(capacity, length, FixedWindow.Alignment.EPOCH, ZoneOffset.UTC);
  }

  /**
   * Returns the same policies with other limits. The new limits are larger or smaller, or refill
   * faster or slower.
   */
  static PolicySet changed(PolicySet policies, Chance chance) {
    List<Policy> changed = new ArrayList<>();
    for (Policy policy : policies.policies()) {
      changed.add(policy.toBuilder().limit(changed(policy.limit(), chance)).build());
    }
    return new PolicySet(policies.version() + 1, changed);
  }

  private static PolicyLimit changed(PolicyLimit limit, Chance chance) {
    PeriodicLimit periodic = limit.periodic();
    if (periodic != null) {
      return periodic.withCapacity(chance.between(20L, 150L));
    }
    return new TokenBucketLimit(
        chance.between(1L, 30L),
        chance.between(1L, 9L),
        chance.pick(List.of(333_333L, 700_000L, 1_000_000L, 1_500_000L)));
  }

  private static Policy policy(
      Chance chance, String name, List<String> endpoints, PolicyLimit limit) {
    boolean holds = !limit.refills() && chance.percent(60);
    return new Policy(
            name,
            match(endpoints),
            List.of(KeyPart.CLIENT),
            limit,
            PolicyMode.ENFORCE,
            chance.pick(List.of(CacheFailureMode.values())))
        .toBuilder()
            .onColdCache(holds ? ColdCacheMode.HOLD : ColdCacheMode.ALLOW)
            .debtCapTokens(chance.pick(List.of(0L, limit.capacityTokens(), 1_000_000L)))
            .build();
  }

  private static PolicyMatch match(List<String> endpoints) {
    return new PolicyMatch(List.of(), endpoints, List.of());
  }
}
