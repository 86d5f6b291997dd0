// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import io.weir.cli.quarantine.Account;
import io.weir.cli.quarantine.Entry;
import io.weir.cli.quarantine.Quarantine;
import io.weir.cli.quarantine.Replayer;
import io.weir.cli.quarantine.Selection;
import io.weir.cli.quarantine.Source;
import io.weir.cli.verify.Progress;
import io.weir.topics.catalog.Topics;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Function;
import me.tongfei.progressbar.ProgressBar;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Lists what could not be counted, and replays it. */
@Command(
    name = "quarantine",
    mixinStandardHelpOptions = true,
    description = {
      "List what could not be counted, or bring it to the count again.",
      "Needs WEIR_KAFKA, and WEIR_LATENESS as the aggregators have it."
    })
final class QuarantineCommand {
  private static final int LEFT = 1;

  @ParentCommand
  @SuppressWarnings("NullAway.Init") // set by picocli before a command runs
  private WeirCommand weir;

  @Spec
  @SuppressWarnings("NullAway.Init")
  private CommandSpec spec;

  /** Options that select entries. */
  static final class Filters {
    @Parameters(
        arity = "0..*",
        paramLabel = "PLACE",
        description =
            "records or lines by where they were refused: partition@offset, or"
                + " partition@offset:line; all when none is given")
    private List<String> places = new ArrayList<>();

    @Option(
        names = "--partition",
        paramLabel = "N",
        description = "only of this partition of the calls topic")
    private @Nullable Integer partition;

    @Option(
        names = "--since",
        paramLabel = "T",
        description = "only what was refused since then, RFC 3339 (2026-11-21T00:00:00Z)")
    private @Nullable Instant since;

    @Option(
        names = "--reason",
        paramLabel = "TEXT",
        description = "only where the reason holds this text")
    private @Nullable String reason;

    @Option(names = "--client", paramLabel = "C", description = "only of this client")
    private @Nullable String client;
  }

  @Command(
      name = "list",
      mixinStandardHelpOptions = true,
      sortOptions = false,
      description = {
        "List what was refused, each line once: where, why, how often, and whether it 'waits' "
            + "(can be replayed), 'stays' (cannot, or not yet; the last column says why) or is "
            + "'counted' (was replayed).",
        "A line that is older than WEIR_LATENESS would be refused again, and stays; so does one "
            + "for which the sum of its window has no room until other calls of it are settled "
            + "down."
      },
      exitCodeListHeading = "%nExit status:%n",
      exitCodeList = {"0:listed", "1:Kafka failed", "2:an option or a variable is wrong"},
      footerHeading = "%nExamples:%n",
      footer = {
        "  weir quarantine list",
        "  weir quarantine list --client acme --since 2026-11-21T00:00:00Z --json",
        "  weir quarantine list --reason future 3@8812"
      })
  int list(
      @Mixin Filters filters,
      @Option(names = "--json", description = "one JSON object instead of a table") boolean json)
      throws IOException {
    SortedMap<Source, Entry> found = select(filters, quarantine());
    PrintWriter out = spec.commandLine().getOut();
    if (json) {
      QuarantineTable.printJson(out, found.values());
    } else {
      QuarantineTable.print(out, found.values());
    }
    out.flush();
    return 0;
  }

  @Command(
      name = "replay",
      mixinStandardHelpOptions = true,
      sortOptions = false,
      description = {
        "Send what waits in the quarantine to the calls topic again, and wait until it is "
            + "counted, in the windows in which it was decided: as adjustments where these are "
            + "closed.",
        "Each line is counted once, however often it is sent, so a run that was interrupted "
            + "is made again. Nothing is taken out of the quarantine. 'weir verify' then counts "
            + "replayed lines as they are in the ledger. Update every aggregator first: older ones "
            + "do not know replays."
      },
      exitCodeListHeading = "%nExit status:%n",
      exitCodeList = {
        "0:everything that was selected is counted, or would be sent (--dry-run)",
        "1:something stays, was refused again or is not counted yet, each named; or Kafka failed",
        "2:an option or a variable is wrong"
      },
      footerHeading = "%nExamples:%n",
      footer = {
        "  weir quarantine replay --dry-run",
        "  weir quarantine replay 3@8812",
        "  weir quarantine replay --reason future --client acme"
      })
  int replay(
      @Mixin Filters filters,
      @Option(names = "--dry-run", description = "say what would be sent, and send nothing")
          boolean dryRun,
      @Option(
              names = "--wait",
              paramLabel = "D",
              defaultValue = "PT1M",
              description = "how long to wait until what was sent is counted (${DEFAULT-VALUE})")
          Duration patience)
      throws InterruptedException {
    if (patience.isNegative()) {
      throw wrong("--wait must not be negative, is " + patience);
    }
    Quarantine quarantine = quarantine();
    SortedMap<Source, Entry> selected = select(filters, quarantine);
    PrintWriter out = spec.commandLine().getOut();
    selected.values().removeIf(entry -> entry.state() == Entry.State.COUNTED);
    long staying =
        selected.values().stream().filter(entry -> entry.state() == Entry.State.STAYS).count();
    out.printf(
        "%d selected: %d %s, %d stay%n",
        selected.size(),
        selected.size() - staying,
        dryRun ? "would be sent" : "to be sent",
        staying);
    selected.values().stream()
        .filter(entry -> entry.state() == Entry.State.STAYS)
        .forEach(entry -> out.println("STAYS " + entry.source() + " " + entry.stays()));
    boolean done =
        dryRun || staying == selected.size() || sendAndTell(quarantine, selected, patience);
    out.flush();
    return done && staying == 0 ? 0 : LEFT;
  }

  /**
   * Sends the selected entries and prints the result.
   *
   * @return whether everything that was sent is counted
   */
  private boolean sendAndTell(
      Quarantine quarantine, SortedMap<Source, Entry> selected, Duration patience)
      throws InterruptedException {
    Account account =
        withProgress(
            progress -> {
              try {
                return new Replayer(quarantine, selected).run(patience, progress);
              } catch (InterruptedException asked) {
                Thread.currentThread().interrupt();
                throw new CommandFailedException("interrupted; run it again", asked);
              }
            });
    PrintWriter out = spec.commandLine().getOut();
    long counted = account.count(Account.Outcome.COUNTED);
    long refused = account.count(Account.Outcome.REFUSED);
    new TreeMap<>(account.fates())
        .forEach(
            (source, fate) -> {
              if (fate.outcome() != Account.Outcome.COUNTED) {
                out.println(fate.outcome() + " " + source + " " + fate.why());
              }
            });
    out.printf(
        "%d sent, %d acknowledged, %d counted, %d refused again, %d not counted yet%n",
        account.sent(),
        account.acknowledged(),
        counted,
        refused,
        account.sent() - account.fates().size());
    return counted == account.sent();
  }

  private Quarantine quarantine() {
    Duration lateness = weir.duration("WEIR_LATENESS", Topics.LATENESS);
    return new Quarantine(weir.kafka(), lateness, System.currentTimeMillis());
  }

  private SortedMap<Source, Entry> select(Filters filters, Quarantine quarantine) {
    Selection selection = selection(filters);
    SortedMap<Source, Entry> all = withProgress(quarantine::read);
    for (Source place : selection.places()) {
      if (all.keySet().stream().noneMatch(place::holds)) {
        throw new CommandFailedException("nothing of " + place + " is in the quarantine");
      }
    }
    SortedMap<Source, Entry> found = new TreeMap<>();
    all.values().stream()
        .filter(selection::includes)
        .forEach(entry -> found.put(entry.source(), entry));
    return found;
  }

  private Selection selection(Filters filters) {
    List<Source> places = new ArrayList<>();
    for (String text : filters.places) {
      Source place = Source.parse(text);
      if (place == null) {
        throw wrong("a place must be partition@offset or partition@offset:line, is '" + text + "'");
      }
      places.add(place);
    }
    return new Selection(
        filters.partition,
        filters.since == null ? 0 : filters.since.toEpochMilli(),
        filters.reason,
        filters.client,
        places);
  }

  private <T> T withProgress(Function<Progress, T> work) {
    try (ProgressBar bar = Bars.named("quarantine").build()) {
      return work.apply((what, done, total) -> Bars.show(bar, what, done, total));
    }
  }

  private ParameterException wrong(String message) {
    return new ParameterException(spec.commandLine(), message);
  }
}
