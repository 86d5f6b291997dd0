// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import io.weir.cli.erase.Erasure;
import io.weir.cli.erase.ErasureFailedException;
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
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Erases what the state topic holds of a client. */
@Command(
    name = "erase",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Erase the newest figures of a client's windows, which weir.usage.state.v1 and the tables of"
          + " the aggregators would keep for ever. First stop its calls, and delete its entry ('weir"
          + " clients delete'). The whole procedure is told in docs/security.md.",
      "A window is erased when nothing that is left or may come could count it again: it is closed,"
          + " no call of it would be taken any more (WEIR_LATENESS), and weir.calls.v1 holds none"
          + " of its calls. The others are told, with the time from which they can be erased: run"
          + " it again then.",
      "The ledger is not touched, so bills stay as they are. May be killed at any moment: run again,"
          + " it erases what is left. What other places hold, and until when, is told at the end.",
      "Needs WEIR_KAFKA, and WEIR_LATENESS as the aggregators have it."
    },
    exitCodeListHeading = "%nExit status:%n",
    exitCodeList = {
      "0:the state topic has no row of the client any more, nor weir.clients.v1 an entry",
      "1:Kafka failed, or refused: run it again",
      "2:an option or a variable is wrong",
      "3:rows are left that are still in reach, or an entry; or there is something to erase"
          + " (--dry-run)"
    },
    footerHeading = "%nExamples:%n",
    footer = {"  weir clients erase acme --dry-run", "  weir clients erase acme --yes"})
final class ClientEraseCommand implements Callable<Integer> {
  private static final int IS_LEFT = 3;

  @ParentCommand
  @SuppressWarnings("NullAway.Init") // set by picocli before a command runs
  private ClientsCommand clients;

  @Spec
  @SuppressWarnings("NullAway.Init")
  private CommandSpec spec;

  @Parameters(paramLabel = "CLIENT", description = "the client")
  private String client = "";

  @Option(names = "--yes", description = "erase; it cannot be undone")
  private boolean yes;

  @Option(names = "--dry-run", description = "only tell what would be erased")
  private boolean dryRun;

  @Override
  public Integer call() {
    PolicyKey key = ClientsCommand.key(client, spec);
    if (yes == dryRun) {
      throw new ParameterException(
          spec.commandLine(),
          yes
              ? "give --yes or --dry-run, not both"
              : "what is erased cannot be brought back: give --dry-run to look, --yes to erase");
    }
    KafkaConnection kafka = clients.weir().kafka();
    Erasure.Settings settings =
        new Erasure.Settings(
            kafka, client, clients.weir().duration("WEIR_LATENESS", Topics.LATENESS), dryRun);
    boolean hasEntry = hasEntry(key);
    ErasureReport report;
    List<String> remains;
    try (ProgressBar bar = Bars.named("erase").build();
        TopicAdmin admin = TopicAdmin.connect(kafka)) {
      report =
          new Erasure(settings, (what, done, total) -> Bars.show(bar, what, done, total)).run();
      remains = Remains.lines(admin);
    } catch (ErasureFailedException | TopicAdminException failed) {
      throw new CommandFailedException(String.valueOf(failed.getMessage()), failed);
    }
    tell(report, hasEntry, remains);
    boolean isLeft = report.inReach() > 0 || hasEntry || (dryRun && report.over() > 0);
    return isLeft ? IS_LEFT : 0;
  }

  private boolean hasEntry(PolicyKey key) {
    PolicyEntry entry = clients.published().read().entry(key);
    return entry != null && !entry.isDeleted();
  }

  private void tell(ErasureReport report, boolean hasEntry, List<String> remains) {
    PrintWriter out = spec.commandLine().getOut();
    String place = Topics.STATE.name() + "-" + report.partition();
    if (report.over() == 0) {
      out.printf("nothing of %s to erase in %s%n", client, place);
    } else {
      out.printf(
          "%s %s of %s in %s, of windows from %s to %s%s%n",
          dryRun ? "would erase" : "erased",
          PolicyText.count(report.over(), "row", "rows"),
          client,
          place,
          report.firstOver(),
          report.lastOver(),
          dryRun ? "" : "; read again, none of them is left");
    }
    if (report.inReach() > 0) {
      out.printf(
          "IN REACH %s of %s: %s%n",
          PolicyText.count(report.inReach(), "row", "rows"), client, when(report));
    }
    if (hasEntry) {
      out.printf(
          "HAS AN ENTRY in %s: 'weir clients delete %s', and take it out of policy files%n",
          Topics.CLIENTS.name(), client);
    }
    out.printf("what remains of %s elsewhere:%n", client);
    remains.forEach(out::println);
    out.flush();
  }

  /** Returns when what is in reach can be erased, in words. */
  private static String when(ErasureReport report) {
    if (report.neverOver()) {
      return "never, since "
          + Topics.CALLS.name()
          + " keeps calls of them for ever (retention.ms=-1): with them a window could be counted"
          + " again, and the client's name stays there";
    }
    Instant over = report.allOver();
    Instant now = Instant.now();
    if (over != null && over.isAfter(now)) {
      return "calls of them are held, or may still come; run it again after " + over;
    }
    return "their time is over, but the aggregator has counted through "
        + (report.countedThrough() == null ? "nothing yet" : report.countedThrough())
        + " only, has not closed them, or Kafka has not deleted their calls yet; run it again"
        + " later";
  }
}
