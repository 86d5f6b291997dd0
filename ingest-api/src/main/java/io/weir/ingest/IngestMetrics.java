// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.jvm.JvmGcMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.weir.decision.redis.CacheStatistics;
import io.weir.decision.redis.RedisDecisionCache;
import io.weir.ingest.correct.CorrectionStatistics;
import io.weir.ingest.gate.GateStatistics;
import io.weir.ingest.gate.LocalDecider;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.http.HttpStatistics;
import io.weir.ingest.record.DecisionClock;
import io.weir.ingest.record.RecordStatistics;
import io.weir.ingest.settle.SettleStatistics;
import io.weir.limits.check.Decision;
import io.weir.topics.model.DecidedBy;
import java.time.Duration;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/**
 * The Prometheus metrics of an ingest node. The parts of the node keep the counts; this class only
 * names them.
 */
final class IngestMetrics {
  private static final double NANOS_PER_SECOND = 1e9;

  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final CorrectionStatistics corrections = CorrectionMetrics.register(registry);
  private final Latencies latencies = new Latencies(registry);

  /**
   * Registers the bounds that the configuration sets, so that alerts need not repeat them.
   *
   * @param maxJournalBytes most bytes of calls that are not yet in Kafka
   * @param decisionDeadline longest time that the cache may take to answer a check
   */
  void bindBounds(long maxJournalBytes, Duration decisionDeadline) {
    bound(
        "weir.log.journal.max.bytes",
        "bytes of calls that the journal may hold (WEIR_JOURNAL_MAX_BYTES)",
        (double) maxJournalBytes);
    bound(
        "weir.decision.deadline.seconds",
        "seconds that the cache may take to answer a check (WEIR_DECISION_DEADLINE)",
        decisionDeadline.toNanos() / NANOS_PER_SECOND);
  }

  /** Registers the counts of the parts of a node. */
  void bind(
      GateStatistics gate,
      LocalDecider local,
      RedisDecisionCache cache,
      RecordStatistics log,
      SettleStatistics settled,
      HttpStatistics turnedAway) {
    bindJvm(registry);
    bindGate(gate);
    bindLocal(local);
    bindCache(cache, cache.statistics());
    bindLog(log);
    bindHttp(turnedAway);
    for (SettleStatistics.Result result : SettleStatistics.Result.values()) {
      FunctionCounter.builder("weir.settlements", settled, s -> s.count(result))
          .description("requests to settle a call")
          .tag("result", word(result).replace('_', '-'))
          .register(registry);
    }
  }

  @SuppressWarnings("resource") // lives as long as the process
  private static void bindJvm(MeterRegistry registry) {
    new JvmMemoryMetrics().bindTo(registry);
    new JvmGcMetrics().bindTo(registry);
    new JvmThreadMetrics().bindTo(registry);
    new ProcessorMetrics().bindTo(registry);
  }

  private void bindGate(GateStatistics gate) {
    for (DecidedBy by : DecidedBy.values()) {
      checks(gate, by, "allowed", statistics -> statistics.allowed(by));
      checks(gate, by, "denied", statistics -> statistics.denied(by));
    }
    counter(
        "weir.checks.not.kept",
        "checks answered 503 since they could not be recorded",
        gate,
        GateStatistics::notKept);
    counter(
        "weir.checks.undecided",
        "checks and peeks the cache did not answer",
        gate,
        GateStatistics::undecided);
    FunctionCounter.builder("weir.calls.shed", gate, GateStatistics::shed)
        .description("calls answered 503 before anything was done for them")
        .tag("reason", "not-asked")
        .register(registry);
    counter(
        "weir.policies.left.out",
        "policies that matched a call and were not evaluated: more than fit into a check",
        gate,
        GateStatistics::policiesLeftOut);
  }

  private void checks(
      GateStatistics gate, DecidedBy by, String verdict, ToDoubleFunction<GateStatistics> value) {
    FunctionCounter.builder("weir.checks", gate, value)
        .description("checks that were decided and recorded")
        .tag("decided_by", by.wireName())
        .tag("verdict", verdict)
        .register(registry);
  }

  private void bindLocal(LocalDecider local) {
    gauge("weir.local.buckets", "buckets of local decisions", local, LocalDecider::bucketCount);
    counter(
        "weir.local.buckets.forgotten",
        "buckets of local decisions that began full again for want of room",
        local,
        LocalDecider::forgottenBuckets);
  }

  /** Registers the difference between this machine's clock and the cache's. */
  void bindClock(DecisionClock clock) {
    gauge(
        "weir.clock.offset.ms",
        "how far Redis' clock is ahead of this machine's; calls are dated by Redis'",
        clock,
        DecisionClock::offsetMillis);
  }

  private void bindCache(RedisDecisionCache cache, CacheStatistics statistics) {
    for (Decision.Cause cause : Decision.Cause.values()) {
      FunctionCounter.builder("weir.cache.undecided", statistics, s -> s.undecided(cause))
          .description("checks and peeks that the cache did not decide")
          .tag("cause", word(cause))
          .register(registry);
    }
    counter(
        "weir.cache.asked",
        "checks and peeks put to the cache",
        statistics,
        CacheStatistics::asked);
    counter(
        "weir.cache.script.calls",
        "calls of the script sent to Redis",
        statistics,
        CacheStatistics::scriptCalls);
    counter(
        "weir.cache.script.loads",
        "loads of the script, since Redis had forgotten it (NOSCRIPT)",
        statistics,
        CacheStatistics::scriptLoads);
    counter(
        "weir.cache.late.replies",
        "answers that came when nobody waited any more",
        statistics,
        CacheStatistics::repliesLate);
    counter(
        "weir.cache.checks.not.sent",
        "checks that left the queue unsent: the server was silent, or nobody waited any more",
        statistics,
        CacheStatistics::checksNotSent);
    counter(
        "weir.cache.checks.sent",
        "checks sent; divided by script calls, the mean batch",
        statistics,
        CacheStatistics::checksSent);
    counter("weir.cache.allowed", "checks and peeks allowed", statistics, CacheStatistics::allowed);
    counter("weir.cache.denied", "checks and peeks denied", statistics, CacheStatistics::denied);
    long[][] sizes = statistics.batchSizes();
    for (int i = 0; i < sizes.length; i++) {
      int sizeClass = i;
      FunctionCounter.builder("weir.cache.batches", statistics, s -> s.batchSizes()[sizeClass][1])
          .description("calls of the script by their number of checks, up to and with max_checks")
          .tag("max_checks", Long.toString(sizes[i][0]))
          .register(registry);
    }
    counter(
        "weir.cache.faults",
        "exceptions that nothing expected, in the threads that ask Redis; these went on",
        statistics,
        CacheStatistics::faults);
    counter(
        "weir.cache.stalls",
        "connections to Redis given up, since it did not answer on them",
        statistics,
        CacheStatistics::stalls);
    counter(
        "weir.cache.connections",
        "connections made to Redis",
        statistics,
        CacheStatistics::connections);
    Gauge.builder("weir.cache.up", cache, c -> c.check().ok() ? 1 : 0)
        .description("1 when the cache answers, else 0")
        .register(registry);
  }

  private void bindLog(RecordStatistics log) {
    counter(
        "weir.log.appended.calls",
        "calls written to the journal",
        log,
        RecordStatistics::appendedLines);
    counter(
        "weir.log.acked.calls", "calls that Kafka confirmed", log, RecordStatistics::ackedLines);
    counter(
        "weir.log.group.commits",
        "writes that brought calls to the journal",
        log,
        RecordStatistics::groupCommits);
    counter(
        "weir.log.sealed.batches",
        "batches made ready to be sent to Kafka",
        log,
        RecordStatistics::sealedBatches);
    counter(
        "weir.log.acked.batches",
        "batches that Kafka confirmed",
        log,
        RecordStatistics::ackedBatches);
    counter(
        "weir.log.retried.batches",
        "batches handed to the Kafka client again",
        log,
        RecordStatistics::retriedBatches);
    counter(
        "weir.log.heartbeats",
        "heartbeats that Kafka confirmed",
        log,
        RecordStatistics::heartbeats);
    counter(
        "weir.log.dropped.calls",
        "calls answered but not kept (WEIR_WHEN_FULL=drop)",
        log,
        RecordStatistics::droppedCalls);
    counter(
        "weir.log.faults",
        "exceptions that nothing expected, in the threads that record; these began anew",
        log,
        RecordStatistics::faults);
    counter(
        "weir.log.found.calls",
        "calls an earlier process left in the journal",
        log,
        RecordStatistics::foundLines);
    for (Recorded.Reason reason : Recorded.Reason.values()) {
      FunctionCounter.builder("weir.log.refused.calls", log, s -> s.refusedCalls(reason))
          .description("calls that could not be recorded")
          .tag("reason", word(reason))
          .register(registry);
    }
    gauge("weir.log.held.calls", "calls Kafka does not have yet", log, RecordStatistics::heldLines);
    gauge(
        "weir.log.journal.bytes",
        "bytes of the calls that Kafka does not have yet",
        log,
        RecordStatistics::journalBytes);
    gauge(
        "weir.log.oldest.unacked.ms",
        "age of the oldest call or heartbeat that Kafka does not have yet, in milliseconds",
        log,
        RecordStatistics::oldestUnackedMillis);
    gauge(
        "weir.topic.partitions",
        "partitions of the topic of calls",
        log,
        RecordStatistics::partitions);
    for (int partition = 0; partition < log.partitions(); partition++) {
      int each = partition;
      Gauge.builder("weir.log.low.watermark.ms", log, s -> s.lowWatermarkEpochMillis(each))
          .description("newest promise made for a partition, in milliseconds since 1970")
          .tag("partition", Integer.toString(partition))
          .register(registry);
    }
  }

  private void bindHttp(HttpStatistics http) {
    for (HttpStatistics.Shed reason : HttpStatistics.Shed.values()) {
      FunctionCounter.builder("weir.calls.shed", http, s -> s.shed(reason))
          .description("calls answered 503 before anything was done for them")
          .tag("reason", word(reason).replace('_', '-'))
          .register(registry);
    }
    for (HttpStatistics.Part part : HttpStatistics.Part.values()) {
      FunctionCounter.builder("weir.requests.timed.out", http, s -> s.timedOut(part))
          .description("requests that were not read whole in time")
          .tag("part", word(part))
          .register(registry);
    }
    gauge(
        "weir.calls.under.way",
        "calls taken in and not answered yet",
        http,
        HttpStatistics::callsUnderWay);
    gauge(
        "weir.calls.under.way.max",
        "calls that may be under way at most",
        http,
        HttpStatistics::maxCallsUnderWay);
    gauge(
        "weir.calls.queue.delay.seconds",
        "least wait of a call for a thread in the last tenth of a second, in seconds",
        http,
        HttpStatistics::queueDelaySeconds);
    gauge(
        "weir.calls.shed.share",
        "share of the calls that is shed for queue delay, 0 to 1",
        http,
        HttpStatistics::shedShare);
    gauge(
        "weir.http.connections",
        "connections that are open to the check API",
        http,
        HttpStatistics::connections);
    gauge(
        "weir.http.incomplete.bodies",
        "requests whose body is on its way",
        http,
        HttpStatistics::incompleteBodies);
    gauge(
        "weir.http.incomplete.body.bytes",
        "bytes kept of the bodies that are on their way",
        http,
        HttpStatistics::incompleteBodyBytes);
  }

  private <T> void counter(String name, String description, T source, ToDoubleFunction<T> value) {
    FunctionCounter.builder(name, source, value).description(description).register(registry);
  }

  private <T> void gauge(String name, String description, T source, ToDoubleFunction<T> value) {
    Gauge.builder(name, source, value).description(description).register(registry);
  }

  private void bound(String name, String description, double value) {
    Gauge.builder(name, () -> value).description(description).register(registry);
  }

  private static String word(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }

  /** Returns the recorder of durations and sizes. */
  Latencies latencies() {
    return latencies;
  }

  /** Returns the statistics in which the applier of corrections counts. */
  CorrectionStatistics corrections() {
    return corrections;
  }

  /** Returns the metrics in the Prometheus text format. */
  String scrape() {
    return registry.scrape();
  }
}
