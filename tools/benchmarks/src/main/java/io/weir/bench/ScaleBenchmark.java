// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.aggregator.AggregatorConfig;
import io.weir.aggregator.topology.StreamsSettings;
import io.weir.bench.Backlog.Shape;
import io.weir.cli.run.LedgerListing;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.net.URI;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.Node;

/**
 * Measures how the cost of counting depends on the number of clients, nodes and partitions, on the
 * size of batches, and on ids of callers. Each row of the result changes one dimension of the
 * default row. An aggregator with one stream thread, in a separate process, reads a backlog that is
 * already written. The benchmark fails if the aggregator does not count every call exactly once.
 */
final class ScaleBenchmark {
  private static final int DEFAULT_CALLS = 2_000_000;

  /** The default row, and the rows that change the given dimension. */
  private static final List<Row> ROWS =
      List.of(
          new Row("default", new Shape(1_000, 10, 1, 500, 0)),
          new Row("clients", new Shape(100_000, 10, 1, 500, 0)),
          new Row("clients", new Shape(1_000_000, 10, 1, 500, 0)),
          new Row("nodes", new Shape(1_000, 1_000, 1, 500, 0)),
          new Row("partitions", new Shape(1_000, 10, 12, 500, 0)),
          new Row("partitions", new Shape(1_000, 10, 48, 500, 0)),
          new Row("batches", new Shape(1_000, 10, 1, 2, 0)),
          new Row("batches", new Shape(1_000, 10, 1, 20, 0)),
          new Row("ids", new Shape(1_000, 10, 1, 500, 1)));

  /** Maximum number of batches of a row, so that they are written within a minute. */
  private static final int MAX_BATCHES = 200_000;

  private static final int MIN_WARM_UP_CALLS = 50_000;
  private static final int WARM_UP_WINDOWS = 5;
  private static final int MAX_WARM_UP_CLIENTS = 10_000;

  /** Minimum number of calls or rows whose cost exceeds the resolution of the measurement. */
  private static final int MIN_MEASURED = 10_000;

  private static final long MAX_WAIT_NANOS = TimeUnit.MINUTES.toNanos(15);

  private final PrintStream out;
  private final List<String> dimensions;
  private final int calls;

  private record Row(String dimension, Shape shape) {}

  /** The processor time and the counted calls of the aggregator at a time. */
  private record Mark(long nanos, long cpuNanos, long calls) {
    /** Returns units per second and µs of processor time per unit; NaN for too few units. */
    List<Double> cost(Mark end, long units) {
      return units < MIN_MEASURED
          ? List.of(Double.NaN, Double.NaN)
          : List.of(units * 1e9 / (end.nanos - nanos), (end.cpuNanos - cpuNanos) / 1e3 / units);
    }
  }

  /**
   * Creates the benchmark.
   *
   * @param arguments names of dimensions, all if there are none; {@code --calls N} sets the number
   *     of calls of a row, which also limits its clients
   */
  ScaleBenchmark(List<String> arguments, PrintStream out) {
    this.out = out;
    this.dimensions = new ArrayList<>(arguments);
    int option = dimensions.indexOf("--calls");
    boolean isGiven = option >= 0 && option + 1 < dimensions.size();
    this.calls = isGiven ? Integer.parseInt(dimensions.remove(option + 1)) : DEFAULT_CALLS;
    if (isGiven) {
      dimensions.remove(option);
    }
    if (calls < MIN_MEASURED
        || !ROWS.stream().map(Row::dimension).toList().containsAll(dimensions)) {
      throw new IllegalArgumentException(
          "scale takes clients, nodes, partitions, batches, ids, and --calls N of at least "
              + MIN_MEASURED
              + ", but the arguments are "
              + arguments);
    }
  }

  void run(Path folder) throws Exception {
    out.printf(
        "per second, and µs of the aggregator's CPU; (ratio to the first figure); NaN: under %,d%n",
        MIN_MEASURED);
    out.println(
        "clients | nodes | partitions | calls a batch | ids of callers | first calls | µs"
            + " | known calls | µs | closed rows | µs | bytes a call");
    List<Double> base = new ArrayList<>();
    for (Row row : ROWS) {
      if (!base.isEmpty() && !dimensions.isEmpty() && !dimensions.contains(row.dimension)) {
        continue;
      }
      Shape shape = row.shape;
      int clients = Math.min(shape.clients(), calls);
      Path own = folder.resolve("row");
      List<Double> costs =
          measure(own, shape, clients, Math.min(calls, MAX_BATCHES * shape.callsABatch()));
      Benchmarks.delete(own);
      base.addAll(base.isEmpty() ? costs : List.of());
      out.printf(
          "%,d | %,d | %d | %d | %d %%",
          clients,
          shape.nodes(),
          shape.partitions(),
          shape.callsABatch(),
          shape.callerIdEvery() * 100);
      for (int i = 0; i < costs.size(); i++) {
        base.set(i, base.get(i).isNaN() ? costs.get(i) : base.get(i));
        out.printf(" | %,.1f (%.2f)", costs.get(i), costs.get(i) / base.get(i));
      }
      out.println();
    }
  }

  private static List<Double> measure(Path folder, Shape shape, int clients, int calls)
      throws Exception {
    int warmUpCalls = Math.max(calls / 4 / WARM_UP_WINDOWS * WARM_UP_WINDOWS, MIN_WARM_UP_CALLS);
    int warmUpClients = Math.min(clients, MAX_WARM_UP_CLIENTS);
    int written = warmUpCalls + clients + calls;
    System.err.printf("scale: writing %,d calls, %s%n", written, shape);
    try (Ground ground = Ground.start(folder, shape.partitions());
        Admin admin = KafkaConnection.to(ground.kafka()).admin(Map.of());
        Backlog backlog = new Backlog(ground.kafka(), shape)) {
      backlog.useClients("warm-up-", warmUpClients);
      backlog.write(warmUpCalls, WARM_UP_WINDOWS);
      long warmUpBytes = bytes(admin);
      backlog.useClients("client-", clients);
      backlog.write(clients + calls);
      double bytes = (bytes(admin) - warmUpBytes) / (double) (clients + calls);
      backlog.closeWindow();
      try (MeasuredServer aggregator =
          MeasuredServer.aggregator(ground.aggregatorVariables(MeterBenchmark.SETTINGS))) {
        Counting counting = new Counting(aggregator, admin, backlog);
        Mark begun = counting.await("warm-up", () -> counting.calls() >= warmUpCalls);
        Mark first = counting.await("first calls", () -> counting.calls() >= warmUpCalls + clients);
        Mark known = counting.await("known calls", () -> counting.calls() == written);
        Mark closed = counting.await("closing", counting::hasClosed);
        LedgerListing ledger = LedgerListing.read(KafkaConnection.to(ground.kafka()), 0);
        requireExact(counting.completeness(), ledger.allowed(), written);
        long rows = ledger.rows() * clients / (clients + WARM_UP_WINDOWS * warmUpClients);
        List<Double> costs = new ArrayList<>(begun.cost(first, first.calls - begun.calls));
        costs.addAll(first.cost(known, known.calls - first.calls));
        costs.addAll(known.cost(closed, rows));
        costs.add(bytes);
        return costs;
      }
    }
  }

  /** Requires that received = counted = written, and that the ledger contains the calls. */
  private static void requireExact(JsonNode completeness, long inLedger, long written) {
    for (String counter : List.of("received", "counted")) {
      long calls = completeness.findValues(counter).stream().mapToLong(JsonNode::asLong).sum();
      if (calls != written || inLedger != written) {
        throw new IllegalStateException(
            String.format(
                "%,d calls were written, but %,d were %s, and %,d are in the ledger",
                written, calls, counter, inLedger));
      }
    }
  }

  /** Returns the size of the calls topic in the broker's log. */
  private static long bytes(Admin admin) throws Exception {
    List<Integer> brokers = admin.describeCluster().nodes().get().stream().map(Node::id).toList();
    return admin.describeLogDirs(brokers).allDescriptions().get().values().stream()
        .flatMap(folders -> folders.values().stream())
        .flatMap(folder -> folder.replicaInfos().entrySet().stream())
        .filter(replica -> replica.getKey().topic().equals(Topics.CALLS.name()))
        .mapToLong(replica -> replica.getValue().size())
        .sum();
  }

  /** An aggregator that counts a backlog. */
  private record Counting(MeasuredServer aggregator, Admin admin, Backlog backlog) {
    Mark await(String phase, Callable<Boolean> isDone) throws Exception {
      System.err.println("scale: counting, " + phase);
      long begun = System.nanoTime();
      while (!isDone.call()) {
        if (aggregator.cpuNanos() == 0 || System.nanoTime() - begun > MAX_WAIT_NANOS) {
          throw new IllegalStateException("the aggregator has stopped or is too slow: " + phase);
        }
        TimeUnit.MILLISECONDS.sleep(20);
      }
      return new Mark(System.nanoTime(), aggregator.cpuNanos(), calls());
    }

    /** Returns the number of calls that the aggregator has counted and committed. */
    long calls() throws Exception {
      String group = StreamsSettings.applicationId(AggregatorConfig.DEFAULT_APPLICATION_PREFIX);
      return admin
          .listConsumerGroupOffsets(group)
          .partitionsToOffsetAndMetadata()
          .get()
          .entrySet()
          .stream()
          .filter(entry -> entry.getKey().topic().equals(Topics.CALLS.name()))
          .filter(entry -> entry.getValue() != null)
          .mapToLong(
              entry -> backlog.callsBefore(entry.getKey().partition(), entry.getValue().offset()))
          .sum();
    }

    boolean hasClosed() throws IOException {
      String end = Instant.ofEpochMilli(backlog.windowStartEpochMillis()).toString();
      JsonNode completeness = completeness();
      return completeness.path("missing_partitions").isEmpty()
          && completeness.findValuesAsText("closed_through").stream().allMatch(end::equals);
    }

    JsonNode completeness() throws IOException {
      URI report = URI.create("http://" + aggregator.address() + "/v1/completeness");
      try (InputStream body = report.toURL().openStream()) {
        return new ObjectMapper().readTree(body);
      }
    }
  }
}
