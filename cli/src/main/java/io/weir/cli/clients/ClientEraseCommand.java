// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.clients;

import io.weir.cli.console.Bars;
import io.weir.cli.console.PolicyText;
import io.weir.cli.console.PublishedPolicies;
import io.weir.cli.console.Terminal;
import io.weir.cli.erase.Erasure;
import io.weir.cli.erase.ErasureReport;
import io.weir.cli.erase.Remains;
import io.weir.ingest.policy.log.PolicyEntry;
import io.weir.ingest.policy.log.PolicyKey;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.TopicAdmin.TopicAdminException;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.Callable;
import me.tongfei.progressbar.ProgressBar;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Erases the rows of one client from the state topic. */
@Command(
    name = "erase",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Erase the newest figures of a client's windows. Without this command, weir.usage.state.v1"
          + " and the tables of the aggregators keep these figures for ever. First stop the"
          + " client's calls, and delete the client's entry with 'weir clients delete'. docs/security.md"
          + " describes the whole procedure.",
      "The command erases a window only if Weir cannot count the window again: the window is"
          + " closed, accepts no more calls (WEIR_LATENESS), and has no calls left in weir.calls.v1. For"
          + " all other windows, the command prints the time from which they can be erased. Run the"
          + " command again at that time.",
      "The ledger is not changed, so bills stay as they are. You can stop the command at any moment"
          + " and run it again: the second run erases the remaining rows. At the end, the command"
          + " lists the other places that keep data of the client, and how long they keep the data.",
      "Needs WEIR_KAFKA, and the same WEIR_LATENESS as the aggregators."
    },
    exitCodeListHeading = "%nExit status:%n",
    exitCodeList = {
      "0:the state topic has no rows of the client, and weir.clients.v1 has no entry of the client",
      "1:Kafka failed or refused the request: run the command again",
      "2:an option or a variable is wrong",
      "3:some rows cannot be erased yet, or the client still has an entry; with --dry-run: there are"
          + " rows to erase"
    },
    footerHeading = "%nExamples:%n",
    footer = {"  weir clients erase acme --dry-run", "  weir clients erase acme --yes"})
final class ClientEraseCommand implements Callable<Integer> {
  private static final int IS_LEFT = 3;

  @Mixin private final Terminal terminal = new Terminal();

  @Parameters(paramLabel = "CLIENT", description = "the client")
  private String client = "";

  @Option(names = "--yes", description = "erase; this cannot be undone")
  private boolean yes;

  @Option(names = "--dry-run", description = "only print what would be erased")
  private boolean dryRun;

  @Override
  public Integer call() throws TopicAdminException {
    PolicyKey key = ClientsCommand.key(client, terminal);
    if (yes == dryRun) {
      throw terminal.wrong(
          yes
              ? "give --yes or --dry-run, not both"
              : "erased rows cannot be restored: give --dry-run to list them, or --yes to erase them");
    }
    KafkaConnection kafka = terminal.weir().kafka();
    Erasure.Settings settings =
        new Erasure.Settings(
            kafka, client, terminal.weir().duration("WEIR_LATENESS", Topics.LATENESS), dryRun);
    boolean hasEntry = hasEntry(key);
    ErasureReport report;
    List<String> remains;
    try (ProgressBar bar = Bars.named("erase").build();
        TopicAdmin admin = TopicAdmin.connect(kafka)) {
      report =
          new Erasure(settings, (what, done, total) -> Bars.show(bar, what, done, total)).run();
      remains = Remains.lines(admin);
    }
    print(report, hasEntry, remains);
    boolean isLeft = report.inReach() > 0 || hasEntry || (dryRun && report.over() > 0);
    return isLeft ? IS_LEFT : 0;
  }

  private boolean hasEntry(PolicyKey key) {
    PolicyEntry entry = new PublishedPolicies(terminal.weir().kafka()).read().entry(key);
    return entry != null && !entry.isDeleted();
  }

  private void print(ErasureReport report, boolean hasEntry, List<String> remains) {
    PrintWriter out = terminal.out();
    String place = Topics.STATE.name() + "-" + report.partition();
    if (report.over() == 0) {
      out.printf("no rows of %s to erase in %s%n", client, place);
    } else {
      out.printf(
          "%s %s of %s in %s, in windows from %s to %s%s%n",
          dryRun ? "would erase" : "erased",
          PolicyText.count(report.over(), "row", "rows"),
          client,
          place,
          report.firstOver(),
          report.lastOver(),
          dryRun ? "" : "; a second read found none of them");
    }
    if (report.inReach() > 0) {
      out.printf(
          "IN REACH %s of %s: %s%n",
          PolicyText.count(report.inReach(), "row", "rows"), client, when(report));
    }
    if (hasEntry) {
      out.printf(
          "HAS AN ENTRY in %s: run 'weir clients delete %s', and remove the client from policy"
              + " files%n",
          Topics.CLIENTS.name(), client);
    }
    out.printf("other places that keep data of %s:%n", client);
    remains.forEach(out::println);
  }

  /** Returns a description of when the rows that are in reach can be erased. */
  private static String when(ErasureReport report) {
    if (report.neverOver()) {
      return "never, because "
          + Topics.CALLS.name()
          + " keeps their calls for ever (retention.ms=-1). Weir could count a window again from these"
          + " calls, and these calls contain the client's name";
    }
    Instant over = report.allOver();
    Instant now = Instant.now();
    if (over != null && over.isAfter(now)) {
      return "Kafka keeps their calls, or more calls may arrive; run the command again after "
          + over;
    }
    return "the rows are old enough, but the aggregator (which has counted through "
        + (report.countedThrough() == null ? "nothing yet" : report.countedThrough())
        + ") has not closed their windows, or Kafka has not deleted their calls yet; run the"
        + " command again later";
  }
}
