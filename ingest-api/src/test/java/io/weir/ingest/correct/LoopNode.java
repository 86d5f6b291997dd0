// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.decision.correction.BucketCorrector;
import io.weir.ingest.clock.LocalClock;
import io.weir.limits.correction.CorrectionOutcome.Kind;
import io.weir.limits.policy.PolicySet;
import io.weir.topics.kafka.KafkaConnection;

/** One applier over a real broker and a cache in memory. */
final class LoopNode implements AutoCloseable {
  private static final int RATE = 20_000;

  final FakeLife life = new FakeLife();
  private final MeterRegistry registry = new SimpleMeterRegistry();
  final CorrectionStatistics statistics = new CorrectionStatistics(registry);
  final CorrectionStatus status;
  private final CorrectionLoop loop;

  /** A node with a fast clock and an unlimited rate of corrections. */
  LoopNode(String node, String bootstrapServers, BucketCorrector corrector) {
    this(node, bootstrapServers, corrector, RATE, FastClock.start());
  }

  LoopNode(
      String node,
      String bootstrapServers,
      BucketCorrector corrector,
      int maxPerSecond,
      LocalClock clock) {
    CorrectionQueue queue =
        new CorrectionQueue(
            corrector, life, () -> PolicySet.EMPTY, maxPerSecond, statistics, clock);
    status = queue.status();
    loop =
        new CorrectionLoop(
            new CorrectionSettings(node, KafkaConnection.to(bootstrapServers), maxPerSecond),
            queue,
            statistics,
            clock,
            registry);
    loop.start();
  }

  /** All records read that something has become of. */
  double ended() {
    double ended =
        statistics.superseded.count()
            + statistics.malformed.count()
            + statistics.restoredMessages.count()
            + statistics.handedBack.count();
    for (Kind kind : Kind.values()) {
      ended += statistics.outcomes(kind).count();
    }
    return ended;
  }

  @Override
  public void close() {
    loop.close();
  }
}
