// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.access.Access;
import io.weir.decision.redis.RedisCacheConfig;
import io.weir.decision.redis.RedisDecisionCache;
import io.weir.ingest.authz.AuthzSettings;
import io.weir.ingest.correct.Corrections;
import io.weir.ingest.event.EventRules;
import io.weir.ingest.gate.CheckGate;
import io.weir.ingest.gate.LocalDecider;
import io.weir.ingest.policy.PolicyFile;
import io.weir.ingest.record.CallsTopicReader;
import io.weir.ingest.record.DecisionClock;
import io.weir.ingest.record.KafkaCallLog;
import io.weir.ingest.record.RecordConfig;
import io.weir.ingest.rls.RateLimitSettings;
import io.weir.ingest.settle.Settler;
import io.weir.ingest.trace.TraceSettings;
import io.weir.ingest.trace.Traces;
import io.weir.limits.policy.PolicyMatcher;
import io.weir.limits.policy.PolicySet;
import io.weir.servers.testing.TestKafka;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.CallEvent;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The check API over a real Redis, a real broker and a journal on disk, with few threads for calls:
 * while Redis keeps them waiting, calls queue, as they do in front of a processor that is too slow.
 */
final class FewThreadsNode implements AutoCloseable {
  static final int THREADS = 4;

  /**
   * A Redis that stands still is not found out, so that calls wait for as long as the test says.
   */
  private static final Duration NEVER = Duration.ofHours(1);

  private static final int PARTITIONS = 2;

  private final MeterRegistry registry = new SimpleMeterRegistry();
  final HttpStatistics statistics = new HttpStatistics(registry);
  private final ExecutorService threads = Executors.newFixedThreadPool(THREADS);
  private final TestKafka kafka = TestKafka.borrow();
  private final TestRedis redis = TestRedis.start();
  private final RedisDecisionCache cache;
  private final KafkaCallLog log;
  private final CheckApi api;

  FewThreadsNode(Path folder, Duration decisionDeadline, Duration queueDelayTarget)
      throws Exception {
    CallsTopicReader.create(kafka.bootstrapServers(), PARTITIONS);
    cache =
        RedisDecisionCache.start(
            RedisCacheConfig.of(redis.uri())
                .withDeadline(decisionDeadline)
                .withConnectionTimeouts(NEVER, Duration.ofMinutes(1)),
            registry);
    log =
        KafkaCallLog.open(
            RecordConfig.builder("n1", KafkaConnection.to(kafka.bootstrapServers()), folder)
                .drainTimeout(Await.TIMEOUT)
                .build(),
            DecisionClock.ofSystem());
    AtomicLong ids = new AtomicLong();
    PolicyMatcher matcher = PolicyMatcher.of(policies());
    api =
        CheckApi.start(
            new CheckApi.Parts(
                new CheckGate(
                    () -> matcher,
                    cache,
                    new LocalDecider(1, () -> 1),
                    log,
                    () -> "own-" + ids.incrementAndGet(),
                    null,
                    registry),
                new Settler(new NothingFound(), log, settlement -> null, registry),
                cache,
                log,
                () -> new Corrections.Health(true, ""),
                () -> true,
                () -> "",
                null,
                EventRules.none(),
                Access.ofEverybody(),
                null,
                Traces.create(TraceSettings.OFF, "node", registry)),
            new HttpSettings(
                "127.0.0.1",
                0,
                Runtime.version().feature() >= 21,
                HttpSettings.DEFAULT_CALLS_UNDER_WAY,
                false,
                queueDelayTarget,
                HttpSettings.DEFAULT_CONNECTIONS,
                HttpSettings.DEFAULT_KEEP_ALIVE,
                0,
                UnknownMembers.REFUSE,
                LimitHeaders.DEFAULT,
                AuthzSettings.OFF,
                RateLimitSettings.OFF),
            threads,
            statistics);
  }

  private static PolicySet policies() {
    return ((PolicyFile.Content.Valid)
            PolicyFile.parse(
                """
                policies:
                  - name: wide
                    limit: {algorithm: token-bucket, capacity: 1000000, refill_tokens: 1, refill_period: PT1H}
                    on_cache_failure: open
                """))
        .policies();
  }

  RawHttp connect() throws IOException {
    return RawHttp.connect(api.port());
  }

  TestRedis redis() {
    return redis;
  }

  /** Decisions of Redis so far. */
  double decided() {
    return registry.get("weir.cache.allowed").counter().count();
  }

  /** Stops accepting calls, and returns every call that is then in Kafka. */
  List<CallEvent> stopAndReadCalls() throws Exception {
    api.close();
    log.close();
    List<CallEvent> calls = new ArrayList<>();
    for (CallsTopicReader.Batch batch : CallsTopicReader.read(kafka.bootstrapServers())) {
      calls.addAll(batch.calls());
    }
    return calls;
  }

  @Override
  public void close() {
    redis.resume();
    api.close();
    log.close();
    cache.close();
    threads.shutdownNow();
    redis.close();
    kafka.close();
  }
}
