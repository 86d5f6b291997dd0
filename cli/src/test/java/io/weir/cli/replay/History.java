// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.decision.DecisionCache;
import io.weir.decision.deny.DenyCache;
import io.weir.ingest.gate.Call;
import io.weir.ingest.gate.CallLog;
import io.weir.ingest.gate.CheckGate;
import io.weir.ingest.gate.Durability;
import io.weir.ingest.gate.Leases;
import io.weir.ingest.gate.LocalDecider;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.gate.Ticket;
import io.weir.ingest.policy.log.PolicyEntry;
import io.weir.ingest.policy.log.PolicyKey;
import io.weir.ingest.policy.log.PolicyLogState;
import io.weir.limits.BucketState;
import io.weir.limits.IpAddress;
import io.weir.limits.check.Check;
import io.weir.limits.check.CheckDecider;
import io.weir.limits.check.Decision;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.Correction;
import io.weir.limits.correction.CorrectionRule;
import io.weir.limits.policy.CallFacts;
import io.weir.limits.policy.PolicyMatcher;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.UsagePosition;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A history that the real gate and the real decider have made: several nodes over one cache, whose
 * clock is set by hand, with whatever happens to caches and nodes.
 */
final class History {
  private static final long STARTED_MICROS = 1_764_100_000_000_000L;
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Events other than calls. */
  record Trouble(
      boolean corrections,
      boolean losses,
      boolean failovers,
      boolean outages,
      boolean lostLines,
      boolean clockSteps,
      boolean changedLimits,
      boolean denyCache) {
    static final Trouble NONE = new Trouble(false, false, false, false, false, false, false, false);
    static final Trouble ALL = new Trouble(true, true, true, true, true, false, true, true);

    Trouble {
      // a repeated denial has the time of its node, which says nothing when the clock goes back
      denyCache &= !clockSteps;
      // a charge without a record just after the cache went back hides that it did
      lostLines &= !failovers;
    }
  }

  private final Random random;
  private final Trouble trouble;
  private final TestCache cache = new TestCache();
  private final List<PolicyEntry> entries = new ArrayList<>();
  private final List<Node> nodes = new ArrayList<>();
  private final Map<String, Long> versions = new HashMap<>();
  final List<CallEvent> calls = new ArrayList<>();
  private long nowMicros = STARTED_MICROS;
  private long steadyNanos;
  private long ids;
  private @Nullable Map<String, Kept> snapshot;

  private record Kept(BucketState state, long expiresMicros) {}

  /** The most by which the clock of a node may be apart from that of the cache. */
  private final int clocksApartMillis;

  private final String[][] changes;

  History(long seed, Trouble trouble) {
    this(seed, trouble, POLICIES, CHANGES, 0);
  }

  /**
   * Creates a history without calls.
   *
   * @param policies the entries of version 1, as JSON with single quotes; {@code kind} is {@code
   *     policy} if it is not given, and {@code name} names the key
   * @param changes the entries of each later version, in the order in which they are published
   * @param clocksApartMillis the most by which the clock of a node is apart from the cache's
   */
  History(
      long seed, Trouble trouble, String[] policies, String[][] changes, int clocksApartMillis) {
    this.random = new Random(seed);
    this.trouble = trouble;
    this.changes = changes;
    this.clocksApartMillis = clocksApartMillis;
    publish(policies);
    for (int i = 0; i < 3; i++) {
      nodes.add(new Node());
    }
  }

  private static final String[] POLICIES = {
    "{'name':'burst','match':{'meter':['calls']},'limit':{'capacity':10,'refill_tokens':7,'refill_period':'PT3S'}}",
    "{'name':'slow','match':{'meter':['calls'],'client':['a','b']},'key':['client','endpoint'],"
        + "'limit':{'capacity':5,'refill_tokens':1,'refill_period':'PT1S'}}",
    "{'name':'seen','match':{'meter':['calls']},'mode':'shadow',"
        + "'limit':{'capacity':3,'refill_tokens':1,'refill_period':'PT2S'}}",
    "{'name':'queue','match':{'meter':['jobs']},"
        + "'limit':{'algorithm':'leaky-bucket','capacity':6,'leak_tokens':3,'leak_period':'PT1S','queue':true}}",
    "{'name':'wide','match':{'meter':['bytes']},"
        + "'limit':{'capacity':2000000000,'refill_tokens':999983,'refill_period':'PT1H'}}",
    "{'name':'daily','match':{'meter':['pages']},'limit':{'algorithm':'quota','limit':60,'period':'day'}}",
    "{'name':'window','match':{'meter':['pages','jobs']},"
        + "'limit':{'algorithm':'fixed-window','limit':12,'window':'PT10S'}}",
    "{'name':'sliding','match':{'meter':['pages']},"
        + "'limit':{'algorithm':'sliding-window','limit':15,'window':'PT20S','sub_windows':4}}",
    "{'name':'leased','match':{'meter':['leased']},'lease':{'tokens':20,'for':'PT1S'},"
        + "'limit':{'capacity':60,'refill_tokens':70,'refill_period':'PT3S'}}",
    "{'name':'shared','match':{'meter':['jobs']},'key':['endpoint'],"
        + "'limit':{'capacity':8,'refill_tokens':3,'refill_period':'PT1S'}}",
    "{'name':'region','match':{'meter':['jobs'],'attributes':{'region':['eu']}},"
        + "'limit':{'capacity':4,'refill_tokens':1,'refill_period':'PT1S'}}",
    "{'name':'blocked','match':{'client':['evil']},'limit':{'algorithm':'deny'}}",
  };

  private static final String[][] CHANGES = {
    {
      "{'name':'burst','match':{'meter':['calls']},'limit':{'capacity':20,'refill_tokens':5,'refill_period':'PT1S'}}"
    },
    {
      "{'name':'daily','match':{'meter':['pages']},'limit':{'algorithm':'quota','limit':90,'period':'day'}}",
      "{'name':'seen','match':{'meter':['calls']},'mode':'off',"
          + "'limit':{'capacity':3,'refill_tokens':1,'refill_period':'PT2S'}}"
    },
  };

  private void publish(String[] policies) {
    long version = entries.isEmpty() ? 1 : entries.get(entries.size() - 1).version() + 1;
    for (int i = 0; i < policies.length; i++) {
      ObjectNode content;
      try {
        content = (ObjectNode) JSON.readTree(policies[i].replace('\'', '"'));
      } catch (IOException wrong) {
        throw new UncheckedIOException(wrong);
      }
      String kind = content.path("kind").asText("policy");
      String name = content.path("name").asText();
      if (content.remove("kind") != null) {
        content.remove("name");
      }
      entries.add(
          new PolicyEntry(
              new PolicyKey(PolicyKey.Kind.valueOf(kind.toUpperCase(Locale.ROOT)), name),
              new PolicyEntry.Change(
                  version, policies.length, version, 0, 0, "test", "change-" + version),
              i,
              content,
              null));
    }
  }

  PolicyVersions versions() {
    return new PolicyVersions(entries, null);
  }

  private PolicyMatcher matcher() {
    try {
      return PolicyMatcher.of(PolicyLogState.EMPTY.after(entries).set(nowMicros / 1_000));
    } catch (PolicyLogState.InvalidPoliciesException wrong) {
      throw new IllegalStateException(wrong);
    }
  }

  /** Makes calls, and whatever else happens. */
  History run(int steps) {
    for (int step = 0; step < steps; step++) {
      advance(waitMicros());
      nodes.get(random.nextInt(nodes.size())).call();
      if (random.nextInt(40) == 0) {
        happens();
      }
    }
    return this;
  }

  private long waitMicros() {
    return switch (random.nextInt(8)) {
      case 0 -> 0;
      case 1 -> random.nextInt(5);
      case 2 -> random.nextInt(4_000_000);
      case 3 -> random.nextInt(200) == 0 ? 90_000_000L : 1_000;
      default -> random.nextInt(120_000);
    };
  }

  private void advance(long micros) {
    nowMicros += micros;
    steadyNanos += micros * 1_000;
    nodes.forEach(Node::runTimers);
  }

  private void happens() {
    if (cache.isAway && random.nextBoolean()) {
      cache.isAway = false;
      return;
    }
    switch (random.nextInt(8)) {
      case 0 -> {
        if (trouble.corrections) {
          correct();
        }
      }
      case 1 -> {
        if (trouble.losses && random.nextBoolean()) {
          lose();
        }
      }
      case 2 -> {
        if (trouble.failovers) {
          if (snapshot == null) {
            snapshot = new HashMap<>(cache.kept);
          } else if (random.nextBoolean()) {
            cache.kept.clear();
            cache.kept.putAll(snapshot);
            snapshot = null;
            nodes.forEach(node -> node.denials = new Object());
          }
        }
      }
      case 3 -> cache.isAway = trouble.outages && !cache.isAway;
      case 4 -> {
        if (trouble.clockSteps && random.nextInt(4) == 0) {
          nowMicros -= random.nextInt(random.nextBoolean() ? 3_000 : 20_000_000);
        }
      }
      case 5 -> {
        if (trouble.changedLimits && entries.get(entries.size() - 1).version() <= changes.length) {
          publish(changes[(int) entries.get(entries.size() - 1).version() - 1]);
        } else if (trouble.changedLimits) {
          nodes.get(random.nextInt(nodes.size())).matcher = matcher();
        }
      }
      default -> {
        // nothing
      }
    }
  }

  /** Loses all buckets; some are restored from what is known of them. */
  private void lose() {
    Map<String, Kept> lost = new TreeMap<>(cache.kept);
    cache.kept.clear();
    nodes.forEach(node -> node.denials = new Object());
    if (trouble.corrections) {
      lost.keySet().removeIf(bucket -> random.nextBoolean());
      for (int i = 0; i < 2; i++) {
        lost.forEach((bucket, kept) -> correct(bucket, kept.state));
        advance(random.nextInt(2_000));
      }
    }
  }

  private void correct() {
    List<String> buckets = new ArrayList<>(new TreeMap<>(cache.kept).keySet());
    if (!buckets.isEmpty()) {
      String bucket = buckets.get(random.nextInt(buckets.size()));
      Kept kept = cache.kept.get(bucket);
      if (kept != null) {
        correct(bucket, kept.state);
      }
    }
  }

  private void correct(String bucket, BucketState state) {
    Charge last = null;
    for (CallEvent call : calls) {
      for (Charge charge : call.charges()) {
        last = charge.bucket().equals(bucket) ? charge : last;
      }
    }
    if (last == null || last.limit() == null || state.epoch() == 0) {
      return;
    }
    long version = versions.merge(bucket, 1L, Long::sum);
    long full = nowMicros + random.nextInt(8_000_000) - 2_000_000;
    Correction correction =
        new Correction(
            bucket,
            last.limit(),
            state.epoch(),
            version,
            state.chargedTokens(),
            last.limit().fullAtMicros(full),
            random.nextInt(70),
            0,
            Correction.Cause.GAP,
            0,
            0,
            0);
    CorrectionRule.Result result =
        CorrectionRule.apply(new BoundedCorrection(correction, 10), cache.state(bucket), nowMicros);
    BucketState after = result.state();
    if (after != null) {
      cache.keep(bucket, after, result.ttlMillis());
      nodes.forEach(node -> node.denyCache.drop(bucket));
    }
  }

  /** The cache: the real decider over states in memory. */
  private final class TestCache {
    private final Map<String, Kept> kept = new HashMap<>();
    private boolean isAway;

    @Nullable BucketState state(String bucket) {
      Kept one = kept.get(bucket);
      return one == null || one.expiresMicros <= nowMicros ? null : one.state;
    }

    void keep(String bucket, BucketState state, long ttlMillis) {
      kept.put(bucket, new Kept(state, nowMicros + ttlMillis * 1_000));
    }

    Decision decide(Check check, boolean peek) {
      if (isAway) {
        return new Decision.Undecided(Decision.Cause.TIMEOUT, "away");
      }
      CheckDecider.Outcome outcome = CheckDecider.decide(check, peek, true, nowMicros, this::state);
      outcome.writes().forEach(each -> keep(each.bucket(), each.state(), each.ttlMillis()));
      outcome
          .restarts()
          .forEach(
              each ->
                  kept.computeIfPresent(
                      each.bucket(),
                      (bucket, before) -> new Kept(each.state(), before.expiresMicros())));
      return outcome.decision();
    }
  }

  private record Timed(long atNanos, Runnable task) {}

  /** A node, with its own policies, leases and deny cache. */
  private final class Node implements DecisionCache {
    private final long clockApartMillis =
        clocksApartMillis == 0 ? 0 : random.nextInt(2 * clocksApartMillis + 1) - clocksApartMillis;
    private final List<Timed> timers = new ArrayList<>();
    private final DenyCache denyCache =
        new DenyCache(trouble.denyCache ? Duration.ofSeconds(1) : Duration.ZERO, () -> steadyNanos);
    private PolicyMatcher matcher = matcher();
    private Object denials = new Object();
    private final CheckGate gate;

    Node() {
      SimpleMeterRegistry registry = new SimpleMeterRegistry();
      NodeLog log = new NodeLog(clockApartMillis);
      gate =
          new CheckGate(
              () -> matcher,
              this,
              new LocalDecider(3, () -> nowMicros),
              log,
              () -> "id-" + ids++,
              new Leases(
                  this::submit,
                  log::begin,
                  2,
                  () -> steadyNanos,
                  (nanos, task) -> timers.add(new Timed(steadyNanos + nanos, task)),
                  registry),
              registry);
    }

    void runTimers() {
      for (Timed timer : List.copyOf(timers)) {
        if (timer.atNanos <= steadyNanos && timers.remove(timer)) {
          timer.task.run();
        }
      }
    }

    void call() {
      String meter =
          switch (random.nextInt(6)) {
            case 0 -> "jobs";
            case 1 -> "bytes";
            case 2 -> "pages";
            case 3 -> "leased";
            default -> "calls";
          };
      long cost =
          meter.equals("bytes")
              ? 1 + random.nextInt(random.nextBoolean() ? 1_500_000_000 : 400)
              : random.nextInt(30) == 0 ? 1 + random.nextInt(70) : 1 + random.nextInt(4);
      int clients = random.nextInt(20);
      String client = clients == 0 ? "evil" : clients < 12 ? "a" : clients < 17 ? "b" : "c";
      gate.check(
          new Call(
              new CallFacts(
                  client,
                  "GET /" + random.nextInt(2),
                  meter,
                  random.nextBoolean() ? IpAddress.parse("203.0.113.7") : null,
                  random.nextInt(3) == 0 ? Map.of("region", "eu") : Map.of()),
              cost,
              null));
    }

    @Override
    public CompletableFuture<Decision> submit(Check check) {
      Decision.StillDenied known = cache.isAway ? null : denyCache.find(denials, check);
      if (known != null) {
        return CompletableFuture.completedFuture(known);
      }
      Decision decision = cache.decide(check, false);
      if (decision instanceof Decision.Denied denied) {
        denyCache.note(denials, check, denied, steadyNanos);
      }
      return CompletableFuture.completedFuture(decision);
    }

    @Override
    public CompletableFuture<Decision> submitPeek(Check check) {
      return CompletableFuture.completedFuture(cache.decide(check, true));
    }

    @Override
    public CompletableFuture<Decision> submitRelease(Check check) {
      throw new IllegalStateException("no policy of a history has slots");
    }

    @Override
    public DecisionCache.Health check() {
      throw new UnsupportedOperationException("a history does not ask for it");
    }

    @Override
    public void close() {}
  }

  /** The log of a node, of which lines may be lost. */
  private final class NodeLog implements CallLog {
    private final long clockApartMillis;

    NodeLog(long clockApartMillis) {
      this.clockApartMillis = clockApartMillis;
    }

    @Override
    public long nowEpochMillis() {
      return nowMicros / 1_000 + clockApartMillis;
    }

    @Override
    public Ticket begin() {
      return new At(nowEpochMillis());
    }

    @Override
    public CompletableFuture<List<Recorded>> submit(Ticket ticket, List<CallEvent> decided) {
      List<Recorded> recorded = new ArrayList<>();
      for (CallEvent call : decided) {
        if (!trouble.lostLines || random.nextInt(30) > 0) {
          calls.add(call);
        }
        recorded.add(new Recorded.Durable(Durability.JOURNALED, new UsagePosition(0, "n", 1, 1)));
      }
      return CompletableFuture.completedFuture(recorded);
    }

    @Override
    public CallLog.Health check() {
      throw new UnsupportedOperationException("a history does not ask for it");
    }

    @Override
    public void close() {}
  }

  private record At(long begunAtEpochMillis) implements Ticket {
    @Override
    public Ticket again() {
      return this;
    }

    @Override
    public void abandon() {}
  }
}
