// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.calls;

import io.weir.cli.console.Bars;
import io.weir.cli.console.CommandContext;
import io.weir.cli.console.Terminal;
import io.weir.cli.records.TopicReader;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.Callable;
import me.tongfei.progressbar.ProgressBar;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Prints the recorded calls of one client. */
@Command(
    name = "calls",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Print the calls and settlements of one client in weir.calls.v1, one per line, in the order of "
          + "the topic. Needs WEIR_KAFKA.",
      "Columns: time of the decision or settlement, verdict, cost, endpoint, meter, policy, "
          + "decided_by, id. A settlement has the verdict 'settled', and as cost 'COST to ACTUAL "
          + "COST'. A record that a node sent twice is printed twice."
    },
    exitCodeListHeading = "%nExit status:%n",
    exitCodeList = {
      "0:all calls of the range were printed, or a closed output stopped the command",
      "1:Kafka failed or has no calls topic; or a record or line cannot be read and was skipped",
      "2:an option or a variable is wrong"
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  weir calls --client acme --from 2026-11-21T14:00:00Z --to 2026-11-21T14:15:00Z",
      "  weir calls --client acme --id order-17",
      "  weir calls --client acme --from 2026-11-21T00:00:00Z --json > calls.ndjson"
    })
public final class CallsCommand implements Callable<Integer> {
  /** Maximum time by which the broker's clock may be behind Redis' clock. */
  private static final Duration CLOCKS = Duration.ofMinutes(5);

  /** Number of lines that wait while a progress bar is shown, so that they do not cut it. */
  private static final int MAX_HELD = 1_000;

  @Mixin private final Terminal terminal = new Terminal();

  @Option(
      names = "--client",
      required = true,
      paramLabel = "C",
      description = "print calls of this client")
  private String client = "";

  @Option(
      names = "--id",
      paramLabel = "ID",
      description = "print only the call with this id, and its settlement")
  private @Nullable String id;

  @Option(
      names = "--from",
      paramLabel = "T",
      description =
          "print calls decided at or after this RFC 3339 time (default: the topic's first call)")
  private Instant from = Instant.EPOCH;

  @Option(
      names = "--to",
      paramLabel = "T",
      description = "print calls decided before this RFC 3339 time (default: no limit)")
  private @Nullable Instant to;

  @Option(
      names = "--json",
      description = "print JSON objects; the schema call-line.json defines their members")
  private boolean json;

  @Override
  public Integer call() {
    terminal.require(!client.isEmpty(), "--client must not be empty");
    terminal.require(to == null || from.isBefore(to), "--from must be before --to");
    Duration lateness = terminal.weir().duration("WEIR_LATENESS", Topics.LATENESS);
    CallLines lines = new CallLines(terminal.out(), json);
    CallsOfClient calls =
        new CallsOfClient(
            new CallsOfClient.Wanted(
                client, id, from.toEpochMilli(), to == null ? Long.MAX_VALUE : to.toEpochMilli()),
            lines::add,
            terminal::warn);
    try (TopicReader reader = reader()) {
      read(reader, ends(reader, lateness), calls, lines);
    }
    if (lines.count() == 0) {
      terminal.warn("the range has no such call of the client '" + client + "'");
    }
    return calls.hasSkipped() ? CommandContext.FAILED : 0;
  }

  private TopicReader reader() {
    KafkaConnection kafka = terminal.weir().kafka();
    return TopicReader.ofClient(kafka, Topics.CALLS, client);
  }

  /** Returns the current end of the topic, or the offset after which no call can be counted. */
  private Map<Integer, Long> ends(TopicReader reader, Duration lateness) {
    Map<Integer, Long> ends = reader.ends();
    return to == null
        ? ends
        : reader.offsetsAt(to.plus(lateness).plus(CLOCKS).toEpochMilli(), ends);
  }

  private void read(
      TopicReader reader, Map<Integer, Long> ends, CallsOfClient calls, CallLines lines) {
    Map<Integer, Long> starts =
        reader.offsetsAt(Math.max(0, from.minus(CLOCKS).toEpochMilli()), ends);
    reader.skipTo(starts);
    long skipped = reader.size(starts);
    long size = reader.size(ends) - skipped;
    long[] done = {0};
    try (ProgressBar bar = Bars.named("calls").build()) {
      while (!reader.hasReached(ends) && !lines.isClosed()) {
        reader.follow(
            record -> {
              if (record.offset() < ends.getOrDefault(record.partition(), 0L)) {
                calls.visit(record);
                done[0] =
                    record.offset() + 1 - starts.getOrDefault(record.partition(), record.offset());
              }
            });
        Bars.show(bar, Topics.CALLS.name(), done[0], size);
        if (!Bars.onTerminal() || lines.held() >= MAX_HELD) {
          lines.print();
        }
      }
    }
    lines.print();
  }
}
