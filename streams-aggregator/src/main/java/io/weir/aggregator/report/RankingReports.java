// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.aggregator.ranking.PartitionWeights;
import io.weir.aggregator.ranking.RankedNames;
import io.weir.aggregator.ranking.RankingSelection;
import io.weir.aggregator.ranking.Rankings;
import io.weir.aggregator.table.Freshness;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.UsageKey;
import io.weir.topics.wire.UsageStateCodec;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The reports of the clients and endpoints with the greatest usage in all partitions. They query
 * other aggregators for their partitions. Thread-safe.
 */
final class RankingReports {
  /**
   * Internal path at which an aggregator returns the figures of its partitions to another
   * aggregator.
   */
  static final String INTERNAL_PATH = "/internal/v1/rankings";

  /** The name of the others row, which is not encoded. All other names are encoded. */
  private static final String OTHERS = UsageStateCodec.encodedEndpoint(UsageKey.others("-", "-"));

  private final AllPartitions partitions;
  private final Rankings rankings;

  RankingReports(AllPartitions partitions, Rankings rankings) {
    this.partitions = partitions;
    this.rankings = rankings;
  }

  /**
   * The figures of one partition.
   *
   * @param watermarkEpochMillis time before which the figures include all calls; 0 if unknown
   * @param upToDate whether the figures include all records published before the request
   */
  private record Part(PartitionWeights weights, long watermarkEpochMillis, boolean upToDate) {}

  /**
   * Returns the response with the figures of all partitions for which an aggregator responds within
   * a few seconds.
   */
  Answer answer(RankingQuery query, ReportCaller caller) throws InterruptedException {
    SortedMap<Integer, Part> parts = here(query.selection());
    String pathAndQuery = pathAndQuery(query.selection());
    for (JsonNode other : partitions.queryOthers(parts.keySet(), pathAndQuery, caller)) {
      for (JsonNode part : other.path("partitions")) {
        parts.putIfAbsent(part.path("partition").asInt(), part(part));
      }
    }
    return Answer.json(200, document(query, parts));
  }

  /**
   * Returns the response to another aggregator, which contains the figures of the partitions on
   * this instance.
   */
  Answer local(Map<String, List<String>> parameters) throws InterruptedException {
    List<Object> documents = new ArrayList<>();
    here(selection(new Parameters(parameters)))
        .forEach(
            (partition, part) -> {
              Map<String, Object> document = new LinkedHashMap<>();
              document.put("partition", partition);
              document.put("watermark_ms", part.watermarkEpochMillis());
              document.put("up_to_date", part.upToDate());
              document.put("increase_error", part.weights().increaseError());
              document.put("decrease_error", part.weights().decreaseError());
              Map<String, Object> names = new HashMap<>();
              part.weights()
                  .weights()
                  .forEach(
                      (name, weight) ->
                          names.put(name, List.of(weight.increase(), weight.decrease())));
              document.put("names", names);
              documents.add(document);
            });
    return Answer.json(200, Map.of("partitions", documents));
  }

  private static Part part(JsonNode document) {
    Map<String, PartitionWeights.Weight> weights = new HashMap<>();
    for (Map.Entry<String, JsonNode> name : document.path("names").properties()) {
      JsonNode bounds = name.getValue();
      weights.put(
          name.getKey(),
          new PartitionWeights.Weight(bounds.path(0).asLong(), bounds.path(1).asLong()));
    }
    return new Part(
        new PartitionWeights(
            weights,
            document.path("increase_error").asLong(),
            document.path("decrease_error").asLong()),
        document.path("watermark_ms").asLong(),
        document.path("up_to_date").asBoolean());
  }

  private static String pathAndQuery(RankingSelection selection) {
    Map<String, String> parameters = new LinkedHashMap<>();
    parameters.put("subject", RankingQuery.word(selection.subject()));
    parameters.put("order", RankingQuery.word(selection.measure()));
    parameters.put("meter", selection.meter());
    parameters.put("from", Instant.ofEpochMilli(selection.fromEpochMillis()).toString());
    parameters.put("to", Instant.ofEpochMilli(selection.toEpochMillis()).toString());
    parameters.put("prefix", selection.prefix());
    List<String> pairs = new ArrayList<>();
    parameters.forEach(
        (name, value) -> pairs.add(name + '=' + URLEncoder.encode(value, StandardCharsets.UTF_8)));
    return INTERNAL_PATH + '?' + String.join("&", pairs);
  }

  /**
   * Parses a query that {@link #pathAndQuery} has created. The clock of the instance that received
   * the original request has defined the times.
   */
  private static RankingSelection selection(Parameters parameters) {
    return new RankingSelection(
        RankingQuery.choice(parameters, "subject", RankingSelection.Subject.CLIENTS),
        RankingQuery.choice(parameters, "order", RankingSelection.Measure.QUANTITY),
        parameters.name("meter", ""),
        parameters.moment("from", Instant.EPOCH, ZoneOffset.UTC).toEpochMilli(),
        parameters.moment("to", Instant.EPOCH, ZoneOffset.UTC).toEpochMilli(),
        RankingQuery.prefix(parameters));
  }

  private SortedMap<Integer, Part> here(RankingSelection selection) throws InterruptedException {
    SortedMap<Integer, Part> parts = new TreeMap<>();
    UsageTable table = partitions.table();
    partitions.read(
        partitions.refresh(),
        (partition, freshness) -> {
          // the watermark is read first, so that the figures are not older than the watermark
          long watermark =
              table.progress(partition).map(PartitionProgress::watermarkEpochMillis).orElse(0L);
          Optional<PartitionWeights> weights = rankings.weights(partition, selection);
          boolean upToDate = freshness == Freshness.UP_TO_DATE;
          if (weights.isPresent() && table.isHere(partition)) {
            parts.put(partition, new Part(weights.get(), watermark, upToDate));
          }
        });
    return parts;
  }

  private Map<String, Object> document(RankingQuery query, SortedMap<Integer, Part> parts) {
    RankingSelection selection = query.selection();
    List<PartitionWeights> weights = parts.values().stream().map(Part::weights).toList();
    RankedNames ranked =
        switch (selection.subject()) {
          case CLIENTS -> RankedNames.ofSeparate(weights, query.limit());
          case ENDPOINTS -> RankedNames.ofSums(weights, query.limit());
        };
    Map<String, Object> document = new LinkedHashMap<>();
    document.put("order", RankingQuery.word(selection.measure()));
    if (selection.measure() == RankingSelection.Measure.QUANTITY) {
      document.put("meter", selection.meter());
      document.put("unit", new UsageKey("-", selection.meter(), "-").unit());
    }
    document.put("from", Instant.ofEpochMilli(selection.fromEpochMillis()).toString());
    document.put("to", Instant.ofEpochMilli(selection.toEpochMillis()).toString());
    document.put(
        RankingQuery.word(selection.subject()),
        ranked.rows().stream().map(row -> members(selection, row)).toList());
    document.put("has_more", ranked.hasMore());
    document.put("unlisted_at_most", ranked.unlistedAtMost());
    document.put("as_of", asOf(parts));
    List<Integer> missing = partitions.missing(parts.keySet());
    document.put(
        "up_to_date", missing.isEmpty() && parts.values().stream().allMatch(Part::upToDate));
    document.put("missing_partitions", missing);
    return document;
  }

  private static @Nullable String asOf(SortedMap<Integer, Part> parts) {
    long asOf = parts.values().stream().mapToLong(Part::watermarkEpochMillis).min().orElse(0);
    return asOf == 0 ? null : Instant.ofEpochMilli(asOf).toString();
  }

  private static Map<String, Object> members(RankingSelection selection, RankedNames.Row row) {
    Map<String, Object> members = new LinkedHashMap<>();
    boolean isOthers = row.name().equals(OTHERS);
    String name = isOthers ? UsageKey.OTHER : URLDecoder.decode(row.name(), StandardCharsets.UTF_8);
    members.put(
        switch (selection.subject()) {
          case CLIENTS -> "client";
          case ENDPOINTS -> "endpoint";
        },
        name);
    if (isOthers) {
      members.put("others", true);
    }
    members.put(RankingQuery.word(selection.measure()), row.estimate());
    members.put("lower_bound", row.lowerBound());
    members.put("upper_bound", row.upperBound());
    members.put("error", row.error());
    return members;
  }
}
