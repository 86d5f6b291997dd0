// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.limits.correction.Correction.Cause;
import io.weir.topics.model.PartitionAccuracy;
import io.weir.topics.model.PartitionAccuracy.Figures;
import io.weir.topics.wire.MalformedRecordException;
import io.weir.topics.wire.PartitionAccuracyCodec;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The report {@code /v1/accuracy}, which shows the accuracy of the cache's decisions in all
 * partitions. Thread-safe.
 */
final class AccuracyReports {
  /**
   * Internal path at which an aggregator returns the accuracy records of its own partitions to
   * another aggregator.
   */
  static final String INTERNAL_PATH = "/internal/v1/accuracy";

  private static final Logger LOG = LoggerFactory.getLogger(AccuracyReports.class);

  /**
   * Number of digits after the decimal point. With six digits, a percentage can show one wrong call
   * in a hundred million calls.
   */
  private static final int PERCENT_DIGITS = 6;

  private final AllPartitions partitions;

  AccuracyReports(AllPartitions partitions) {
    this.partitions = partitions;
  }

  /** The partitions for which an aggregator has responded, with their records. */
  private static final class Gathered {
    final SortedSet<Integer> partitions = new TreeSet<>();
    final SortedMap<Integer, PartitionAccuracy> records = new TreeMap<>();
  }

  /**
   * Returns the response with the figures of all partitions. Omits partitions for which no
   * aggregator responds within a few seconds.
   */
  Answer fleet(ReportCaller caller) throws InterruptedException {
    Gathered gathered = here();
    for (JsonNode other : partitions.queryOthers(gathered.partitions, INTERNAL_PATH, caller)) {
      add(other, gathered);
    }
    return Answer.json(200, document(gathered.records, partitions.missing(gathered.partitions)));
  }

  /**
   * Returns the response to another aggregator, which contains the records of the partitions on
   * this instance.
   */
  Answer local() throws InterruptedException {
    Gathered gathered = here();
    List<Object> records = new ArrayList<>();
    for (PartitionAccuracy record : gathered.records.values()) {
      records.add(new String(PartitionAccuracyCodec.encode(record), StandardCharsets.UTF_8));
    }
    Map<String, Object> document = new LinkedHashMap<>();
    document.put("partitions", gathered.partitions);
    document.put("records", records);
    return Answer.json(200, document);
  }

  private Gathered here() throws InterruptedException {
    Gathered gathered = new Gathered();
    partitions.read(
        partitions.refresh(),
        (partition, freshness) -> {
          partitions
              .table()
              .accuracy(partition)
              .ifPresent(record -> gathered.records.put(partition, record));
          gathered.partitions.add(partition);
        });
    return gathered;
  }

  private static void add(JsonNode other, Gathered gathered) {
    for (JsonNode text : other.path("records")) {
      try {
        PartitionAccuracy record =
            PartitionAccuracyCodec.decode(text.asText().getBytes(StandardCharsets.UTF_8));
        if (!gathered.partitions.contains(record.partition())) {
          gathered.records.putIfAbsent(record.partition(), record);
        }
      } catch (MalformedRecordException notOurs) {
        LOG.warn("another aggregator sent a malformed accuracy record", notOurs);
      }
    }
    other.path("partitions").forEach(partition -> gathered.partitions.add(partition.asInt()));
  }

  /**
   * Returns the document of the report.
   *
   * @param records the records by partition
   * @param missing the partitions for which no aggregator has responded
   */
  static Map<String, Object> document(
      SortedMap<Integer, PartitionAccuracy> records, List<Integer> missing) {
    AccuracySum sum = AccuracySum.of(records.values());
    OptionalLong asOf =
        records.values().stream().mapToLong(PartitionAccuracy::asOfEpochMillis).max();
    Map<String, Object> document = new LinkedHashMap<>();
    document.put(
        "as_of", asOf.isPresent() ? Instant.ofEpochMilli(asOf.getAsLong()).toString() : null);
    document.put("fleet", members(sum.fleet()));
    List<Object> policies = new ArrayList<>();
    sum.policies()
        .forEach(
            (policy, figures) -> {
              Map<String, Object> members = new LinkedHashMap<>();
              members.put("policy", policy);
              members.putAll(members(figures));
              policies.add(members);
            });
    document.put("policies", policies);
    Map<String, Object> corrections = new LinkedHashMap<>();
    for (Cause cause : Cause.values()) {
      corrections.put(cause.wireName(), sum.corrections().get(cause));
    }
    corrections.put("total", sum.correctionsTotal());
    document.put("corrections", corrections);
    document.put("correction_delay_ms", delays(sum));
    document.put("missing_partitions", missing);
    return document;
  }

  private static Map<String, Object> members(Figures figures) {
    long wrong = figures.wronglyAdmitted() + figures.wronglyDenied();
    Map<String, Object> members = new LinkedHashMap<>();
    members.put("decided", figures.decided());
    members.put("wrongly_admitted", figures.wronglyAdmitted());
    members.put("wrongly_denied", figures.wronglyDenied());
    members.put("wrong", wrong);
    members.put("wrong_percent", percent(wrong, figures.decided()));
    members.put("drift_now", figures.driftNowTokens());
    members.put("outage_tokens", figures.outageTokens());
    members.put("outage_open_tokens", figures.outageOpenTokens());
    return members;
  }

  /**
   * Returns a part as a percentage of the whole, rounded half up. Returns null if the whole is
   * zero.
   */
  static @Nullable BigDecimal percent(long part, long whole) {
    return whole == 0
        ? null
        : BigDecimal.valueOf(part)
            .movePointRight(2)
            .divide(BigDecimal.valueOf(whole), PERCENT_DIGITS, RoundingMode.HALF_UP);
  }

  private static Map<String, Object> delays(AccuracySum sum) {
    Map<String, Object> delays = new LinkedHashMap<>();
    delays.put("p50", sum.delayMillis(50));
    delays.put("p99", sum.delayMillis(99));
    delays.put("count", sum.delayCount());
    List<Object> classes = new ArrayList<>();
    for (int i = 0; i < sum.delays().size(); i++) {
      Map<String, Object> one = new LinkedHashMap<>();
      one.put(
          "up_to",
          i < PartitionAccuracy.DELAY_BOUNDS_MILLIS.size()
              ? PartitionAccuracy.DELAY_BOUNDS_MILLIS.get(i)
              : null);
      one.put("count", sum.delays().get(i));
      classes.add(one);
    }
    delays.put("classes", classes);
    return delays;
  }
}
