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
import io.weir.decision.Decision;
import io.weir.decision.redis.CacheStatistics;
import io.weir.decision.redis.RedisDecisionCache;
import io.weir.ingest.correct.CorrectionStatistics;
import io.weir.ingest.gate.GateStatistics;
import io.weir.ingest.gate.LocalDecider;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.http.HttpStatistics;
import io.weir.ingest.record.RecordStatistics;
import io.weir.ingest.settle.SettleStatistics;
import io.weir.topics.model.DecidedBy;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/** The node's counts as Prometheus metrics. The parts count; this only gives them names. */
final class IngestMetrics {
  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final CorrectionStatistics corrections = CorrectionMetrics.register(registry);
  private final Latencies latencies = new Latencies(registry);

  /** Names what the parts of a node count. */
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
        "policies above the most that fit into a check",
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

  private void bindCache(RedisDecisionCache cache, CacheStatistics statistics) {
    for (Decision.Cause cause : Decision.Cause.values()) {
      FunctionCounter.builder("weir.cache.undecided", statistics, s -> s.undecided(cause))
          .description("calls of the cache that were not decided")
          .tag("cause", word(cause))
          .register(registry);
    }
    counter("weir.cache.asked", "calls of the cache", statistics, CacheStatistics::asked);
    counter(
        "weir.cache.script.calls", "script calls sent", statistics, CacheStatistics::scriptCalls);
    counter(
        "weir.cache.script.loads",
        "script loads after NOSCRIPT",
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
          .description("script calls by their number of checks, up to and with max_checks")
          .tag("max_checks", Long.toString(sizes[i][0]))
          .register(registry);
    }
    counter(
        "weir.cache.faults",
        "exceptions nothing expected, in the threads that ask Redis; these went on",
        statistics,
        CacheStatistics::faults);
    counter("weir.cache.stalls", "connections given up", statistics, CacheStatistics::stalls);
    counter("weir.cache.connections", "connections made", statistics, CacheStatistics::connections);
    Gauge.builder("weir.cache.up", cache, c -> c.check().ok() ? 1 : 0)
        .description("1 when the cache answers")
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
    counter("weir.log.sealed.batches", "batches sealed", log, RecordStatistics::sealedBatches);
    counter(
        "weir.log.acked.batches",
        "batches that Kafka confirmed",
        log,
        RecordStatistics::ackedBatches);
    counter(
        "weir.log.retried.batches",
        "batches handed to the client again",
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
        "exceptions nothing expected, in the threads that record; these began anew",
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
    gauge("weir.log.journal.bytes", "bytes of those calls", log, RecordStatistics::journalBytes);
    gauge(
        "weir.log.oldest.unacked.ms",
        "age of the oldest of those calls",
        log,
        RecordStatistics::oldestUnackedMillis);
    for (int partition = 0; partition < log.partitions(); partition++) {
      int each = partition;
      Gauge.builder("weir.log.low.watermark.ms", log, s -> s.promiseEpochMillis(each))
          .description("newest promise made for a partition, epoch milliseconds")
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
        "most calls that may be under way",
        http,
        HttpStatistics::maxCallsUnderWay);
    gauge(
        "weir.calls.queue.delay.seconds",
        "least wait for a thread in the last tenth of a second",
        http,
        HttpStatistics::queueDelaySeconds);
    gauge(
        "weir.calls.shed.share",
        "share of the calls that is shed for queue delay",
        http,
        HttpStatistics::shedShare);
    gauge("weir.http.connections", "open connections", http, HttpStatistics::connections);
    gauge(
        "weir.http.incomplete.bodies",
        "requests whose body is on its way",
        http,
        HttpStatistics::incompleteBodies);
    gauge(
        "weir.http.incomplete.body.bytes",
        "bytes kept of those bodies",
        http,
        HttpStatistics::incompleteBodyBytes);
  }

  private <T> void counter(String name, String description, T source, ToDoubleFunction<T> value) {
    FunctionCounter.builder(name, source, value).description(description).register(registry);
  }

  private <T> void gauge(String name, String description, T source, ToDoubleFunction<T> value) {
    Gauge.builder(name, source, value).description(description).register(registry);
  }

  private static String word(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }

  /** Where times and sizes are recorded. */
  Latencies latencies() {
    return latencies;
  }

  /** Where the applier of corrections counts. */
  CorrectionStatistics corrections() {
    return corrections;
  }

  /** The Prometheus text. */
  String scrape() {
    return registry.scrape();
  }
}
