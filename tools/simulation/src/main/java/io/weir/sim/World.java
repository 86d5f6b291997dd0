// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.ingest.correct.CacheWatch.LossAnnouncer;
import io.weir.limits.ConcurrencyLimit;
import io.weir.limits.PolicyLimit;
import io.weir.limits.SlidingLog;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.policy.CacheFailureMode;
import io.weir.limits.policy.KeyPart;
import io.weir.limits.policy.LeaseTerms;
import io.weir.limits.policy.Policy;
import io.weir.limits.policy.PolicyMatch;
import io.weir.limits.policy.PolicyMode;
import io.weir.limits.policy.PolicySet;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CacheLoss;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.CacheLossCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The world of one simulation: machines, servers, callers, faults and witnesses. */
final class World {
  /**
   * Maximum difference between a node's clock and true time. For the clocks of Redis and the
   * broker, the maximum is half of this value.
   */
  private static final long SKEW_MILLIS = 800;

  private final Plan plan;
  private final Edges edges;
  private final Trace trace;
  private final Scheduler scheduler;
  private final Chance networkChance;
  private final Kafka kafka;
  private final BucketWitness buckets;
  private final CallBook calls = new CallBook();
  private final SimulatedRedis redis;
  private final CorrectionGroup correctionGroup;
  private final List<LedgerWitness> ledgers = new ArrayList<>();
  private final List<Counter> counters = new ArrayList<>();
  private final List<Node> nodes = new ArrayList<>();
  private final Callers callers;
  private final Faults faults;
  private final Chance messageChance;
  private final Duration denyCacheAge;
  private final Chance leaseChance;
  private final @Nullable LeaseTerms leaseTerms;
  private final @Nullable Policy shared;
  private final List<Policy> cacheOnly;
  private final SlotHolders slotHolders;
  private PolicySet policies;
  private final TreeMap<String, Long> counts = new TreeMap<>();
  private long ids;
  private int depth;
  private boolean healed;

  World(Plan plan, Chance chance, Edges edges, Trace trace) {
    this.plan = plan;
    this.policies = plan.policies();
    this.edges = edges;
    this.trace = trace;
    this.scheduler = new Scheduler(trace);
    this.networkChance = chance.split();
    this.kafka = new Kafka(skewed(chance, SKEW_MILLIS / 2), plan.partitions());
    this.buckets = new BucketWitness(this);
    this.redis =
        new SimulatedRedis(skewed(chance, SKEW_MILLIS / 2), edges, buckets, !plan.beginsCold());
    this.correctionGroup = new CorrectionGroup(this, plan.partitions());
    for (int partition = 0; partition < plan.partitions(); partition++) {
      ledgers.add(new LedgerWitness(this, partition));
      counters.add(new Counter(this, partition, chance.split()));
      int number = partition;
      kafka.calls(partition).onAppend(entry -> arrived(number, entry));
    }
    for (int node = 1; node <= plan.nodes(); node++) {
      nodes.add(new Node(this, "n" + node, skewed(chance, SKEW_MILLIS), chance.split()));
    }
    this.callers = new Callers(this, chance.split());
    this.faults = new Faults(this, chance.split());
    // drawn last, so that histories without a deny cache do not change
    this.messageChance = chance.split();
    this.denyCacheAge =
        messageChance.percent(33)
            ? messageChance.pick(List.of(Duration.ofSeconds(1), Duration.ofSeconds(10)))
            : Duration.ZERO;
    this.leaseChance = chance.split();
    this.leaseTerms =
        leaseChance.percent(33)
            ? new LeaseTerms(
                leaseChance.between(2L, 8L), leaseChance.pick(List.of(300_000L, 1_000_000L)))
            : null;
    this.shared = shared(chance.split());
    Chance cacheOnlyChance = chance.split();
    this.cacheOnly = cacheOnly(cacheOnlyChance);
    this.slotHolders = new SlotHolders(this, cacheOnlyChance);
  }

  /**
   * Draws the limits that only the cache stores: a sliding log and slots. In some worlds, returns
   * no limits.
   */
  private static List<Policy> cacheOnly(Chance chance) {
    if (!chance.percent(40)) {
      return List.of();
    }
    return List.of(
        new Policy(
            "log",
            new PolicyMatch(List.of(), List.of("GET /l", "GET /ab"), List.of()),
            List.of(KeyPart.CLIENT),
            new SlidingLog(chance.between(3L, 25L), chance.pick(List.of(2_000_000L, 7_000_000L))),
            PolicyMode.ENFORCE,
            chance.pick(List.of(CacheFailureMode.values()))),
        new Policy(
            "slots",
            new PolicyMatch(List.of(), List.of("POST /s"), List.of()),
            chance.percent(50) ? List.of() : List.of(KeyPart.CLIENT),
            new ConcurrencyLimit(
                chance.between(1L, 4L), chance.pick(List.of(700_000L, 3_000_000L))),
            PolicyMode.ENFORCE,
            chance.pick(List.of(CacheFailureMode.values()))));
  }

  /** Draws a limit with a bucket that all clients share. In some worlds, returns null. */
  private static @Nullable Policy shared(Chance chance) {
    return chance.percent(33)
        ? new Policy(
            "shared",
            new PolicyMatch(List.of(), List.of("GET /a*", "GET /{q}"), List.of()),
            chance.percent(50) ? List.of() : List.of(KeyPart.ENDPOINT),
            new TokenBucketLimit(chance.between(8L, 60L), chance.between(4L, 20L), 1_000_000),
            PolicyMode.ENFORCE,
            chance.pick(List.of(CacheFailureMode.values())))
        : null;
  }

  private SimClock skewed(Chance chance, long byMillis) {
    return new SimClock(scheduler, chance.millis(-byMillis, byMillis));
  }

  private void arrived(int partition, SimulatedLog.Entry entry) {
    try {
      BatchHeader header = BatchHeaderCodec.decode(entry.headers()::get);
      if (header.nodeEpoch() > 1) {
        calls.arrived(
            partition, header, entry.appendEpochMillis(), scheduler.nowMicros(), holdMicros());
      }
    } catch (MalformedRecordException notABatch) {
      trace.note("not a batch");
    }
  }

  Plan plan() {
    return plan;
  }

  /** Returns the policies that a process uses after its start. */
  PolicySet policies() {
    return policies;
  }

  void changePolicies(PolicySet changed) {
    policies = changed;
  }

  /** Returns whether nodes can have had different limits at the same time. */
  boolean haveLimitsChanged() {
    return !policies.equals(plan.policies());
  }

  Edges edges() {
    return edges;
  }

  Trace trace() {
    return trace;
  }

  Scheduler scheduler() {
    return scheduler;
  }

  /** Returns the random generator for messages between processes. */
  Chance networkChance() {
    return networkChance;
  }

  /** Returns the random generator for messages that Redis publishes. */
  Chance messageChance() {
    return messageChance;
  }

  /** Returns the random generator for the messages of leases. */
  Chance leaseChance() {
    return leaseChance;
  }

  /** Returns the maximum time for which nodes repeat a denial; zero if nodes repeat no denials. */
  Duration denyCacheAge() {
    return denyCacheAge;
  }

  /** Returns the duration of leases of tokens; 0 if nodes take no leases. */
  long leaseMicros() {
    return leaseTerms == null ? 0 : leaseTerms.micros();
  }

  /** Returns whether this world has limits that only the cache stores. */
  boolean hasCacheOnlyLimits() {
    return !cacheOnly.isEmpty();
  }

  /** Returns the maximum number of slots. */
  long slots() {
    return cacheOnly.stream()
        .map(Policy::limit)
        .filter(PolicyLimit::limitsConcurrency)
        .mapToLong(limit -> limit.capacityTokens())
        .findFirst()
        .orElse(0);
  }

  SlotHolders slotHolders() {
    return slotHolders;
  }

  /**
   * Returns the given policies and the limits of this world that never change: the shared limit,
   * and the limits that only the cache stores.
   */
  PolicySet withLasting(PolicySet without) {
    List<Policy> policies = new ArrayList<>(without.policies());
    if (shared != null) {
      policies.add(shared);
    }
    policies.addAll(cacheOnly);
    return new PolicySet(without.version(), policies, without.clients());
  }

  /** Returns the given policies, with leases of tokens if nodes of this world take leases. */
  PolicySet withLeases(PolicySet without) {
    LeaseTerms terms = leaseTerms;
    if (terms == null) {
      return without;
    }
    List<Policy> policies = new ArrayList<>();
    for (Policy policy : without.policies()) {
      long tokens = Math.min(terms.tokens(), policy.limit().capacityTokens());
      policies.add(
          policy.toBuilder()
              .lease(
                  policy.limit().refills()
                      ? new LeaseTerms(tokens, edges.leaseMicros(terms.micros()))
                      : null)
              .build());
    }
    return new PolicySet(without.version(), policies, without.clients());
  }

  Kafka kafka() {
    return kafka;
  }

  SimulatedRedis redis() {
    return redis;
  }

  BucketWitness buckets() {
    return buckets;
  }

  CallBook calls() {
    return calls;
  }

  CorrectionGroup correctionGroup() {
    return correctionGroup;
  }

  LedgerWitness ledger(int partition) {
    return ledgers.get(partition);
  }

  List<Counter> counters() {
    return counters;
  }

  List<Node> nodes() {
    return nodes;
  }

  Callers callers() {
    return callers;
  }

  Faults faults() {
    return faults;
  }

  /** Returns whether a fault of the plan may still occur. */
  boolean isDisturbedBy(Fault fault) {
    return !healed && plan.has(fault);
  }

  boolean isHealed() {
    return healed;
  }

  void heal() {
    healed = true;
    faults.heal();
  }

  boolean wasAnyClockSet() {
    return faults.wasAnyClockSet();
  }

  /** Returns a new id, for a call whose caller gave no id. */
  String nextId() {
    return "id" + ids++;
  }

  /** Counts a fault. */
  void count(String what) {
    counts.merge(what, 1L, Long::sum);
  }

  Map<String, Long> counts() {
    return counts;
  }

  /** Returns the number of nested calls that currently wait. */
  int depth() {
    return depth;
  }

  /** Runs other events for the given time. */
  void waitFor(long micros) {
    depth++;
    scheduler.runUntil(scheduler.nowMicros() + micros);
    depth--;
  }

  /**
   * Returns the tokens that answered calls took from a bucket. Counts only calls that were not in
   * the log at a time of the broker's clock, and for which the aggregator does not wait.
   */
  long tokensOfSilentNodes(String bucket, long asOfMillis) {
    long sinceMicros = scheduler.nowMicros() - holdMicros();
    return calls.tokensOfSilentJournals(bucket, asOfMillis, sinceMicros);
  }

  /**
   * Returns the tokens that answered calls took from a bucket. Counts only calls that arrived in
   * the log after the aggregator had stopped waiting for them.
   */
  long tokensGivenUp(String bucket) {
    return calls.tokensGivenUp(bucket);
  }

  /** Returns the result of {@link CallBook#tokensBeforeFirstStamp}. */
  long tokensBeforeFirstStamp(String bucket, long asOfMillis) {
    return calls.tokensBeforeFirstStamp(bucket, asOfMillis);
  }

  private long holdMicros() {
    return (plan.settings().maxHoldMillis() - Plan.GRACE_MILLIS) * 1_000;
  }

  /**
   * Returns an announcer of losses for a node. The announcer writes a loss to each partition, or
   * only to some if Kafka becomes unavailable.
   */
  LossAnnouncer announcer(Node node) {
    return loss -> announce(node, loss);
  }

  private void announce(Node node, CacheLoss loss) throws LossAnnouncer.FailedException {
    byte[] type = CacheLossCodec.TYPE.getBytes(StandardCharsets.UTF_8);
    for (int partition = 0; partition < kafka.partitions(); partition++) {
      boolean lost = isDisturbedBy(Fault.SENDING) && networkChance.percent(10);
      if (lost || !kafka.isReachedBy(node.name())) {
        throw new LossAnnouncer.FailedException("lost", new IllegalStateException("lost"));
      }
      kafka
          .calls(partition)
          .append(null, CacheLossCodec.encode(loss), Map.of(BatchHeaderCodec.TYPE_HEADER, type));
    }
    count("cache loss announced");
    trace.note("cache loss", loss.generation());
  }
}
