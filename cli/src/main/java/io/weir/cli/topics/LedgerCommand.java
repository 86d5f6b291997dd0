// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.topics;

import io.weir.cli.console.CommandContext;
import io.weir.cli.console.StopRequest;
import io.weir.cli.console.Terminal;
import io.weir.cli.records.TopicReader;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import java.io.PrintWriter;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Prints the ledger in a readable form. */
@Command(
    name = "ledger",
    mixinStandardHelpOptions = true,
    description = {"Read weir.usage.ledger.v1, the topic to bill from.", "Needs WEIR_KAFKA."})
public final class LedgerCommand {
  @Mixin private final Terminal terminal = new Terminal();

  @Command(
      name = "tail",
      mixinStandardHelpOptions = true,
      sortOptions = false,
      description = {
        "Print the rows of the ledger, one JSON object per line: 'key' (the client), 'window' "
            + "(from and to) and 'value' (the row as stored in the topic). CLOSE rows are not"
            + " printed.",
        "Without options, the command prints the rows that are written from now on, until "
            + "Ctrl-C. A row is written when its window is closed: with the defaults up to 25 "
            + "minutes after a call.",
        "Rows of one partition, and therefore of one client, are printed in order."
      },
      exitCodeListHeading = "%nExit status:%n",
      exitCodeList = {
        "0:all rows were printed, or Ctrl-C or a closed output stopped the command",
        "1:Kafka failed or has no ledger topic; or a record is not a ledger row and was skipped",
        "2:an option or a variable is wrong"
      },
      footerHeading = "%nExamples:%n",
      footer = {
        "  weir ledger tail",
        "  weir ledger tail --from-beginning --client acme",
        "  weir ledger tail --from-beginning --follow | head"
      })
  int tail(
      @Option(names = "--from-beginning", description = "print all rows of the topic, and then end")
          boolean fromBeginning,
      @Option(
              names = "--follow",
              description = "continue with new rows; the default without --from-beginning")
          boolean follow,
      @Option(names = "--client", paramLabel = "C", description = "print only rows of this client")
          @Nullable String client,
      @Option(names = "--max", paramLabel = "N", description = "end after N rows")
          @Nullable Long max) {
    if (max != null && max < 1) {
      throw terminal.wrong("--max must be at least 1, but is " + max);
    }
    KafkaConnection kafka = terminal.weir().kafka();
    PrintWriter out = terminal.out();
    PrintWriter err = terminal.err();
    try (TopicReader reader = new TopicReader(kafka, Topics.LEDGER);
        StopRequest stop = StopRequest.watch()) {
      LedgerLines lines = new LedgerLines(out, err, client, max == null ? Long.MAX_VALUE : max);
      Map<Integer, Long> ends = reader.ends();
      if (!fromBeginning) {
        reader.skipTo(ends);
      }
      boolean endless = follow || !fromBeginning;
      while (!stop.isRequested() && !lines.isDone() && (endless || !reader.hasReached(ends))) {
        reader.follow(lines);
      }
      return lines.hasSkipped() ? CommandContext.FAILED : 0;
    }
  }
}
