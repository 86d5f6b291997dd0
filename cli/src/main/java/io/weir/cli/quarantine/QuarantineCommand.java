// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.quarantine;

import io.weir.cli.console.Bars;
import io.weir.cli.console.CommandFailedException;
import io.weir.cli.console.Terminal;
import io.weir.cli.records.ReadProgress;
import io.weir.topics.catalog.Topics;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Function;
import me.tongfei.progressbar.ProgressBar;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Lists refused records and lines, and replays them. */
@Command(
    name = "quarantine",
    mixinStandardHelpOptions = true,
    description = {
      "List the records and lines that could not be counted, or send them again to be counted.",
      "Needs WEIR_KAFKA, and the same WEIR_LATENESS as the aggregators."
    })
public final class QuarantineCommand {
  private static final int LEFT = 1;

  @Mixin private final Terminal terminal = new Terminal();

  /** Options that select entries, which must meet all conditions. */
  static final class Filters {
    @Parameters(
        arity = "0..*",
        paramLabel = "PLACE",
        description =
            "select by place: partition@offset for a record, or"
                + " partition@offset:line for a line (default: all)")
    private List<String> places = new ArrayList<>();

    @Option(
        names = "--partition",
        paramLabel = "N",
        description = "select this partition of the calls topic")
    private @Nullable Integer partition;

    @Option(
        names = "--since",
        paramLabel = "T",
        description = "select lines refused since this RFC 3339 time (2026-11-21T00:00:00Z)")
    private @Nullable Instant since;

    @Option(
        names = "--reason",
        paramLabel = "TEXT",
        description = "select lines whose reason contains this text")
    private @Nullable String reason;

    @Option(names = "--client", paramLabel = "C", description = "select this client")
    private @Nullable String client;

    private boolean includes(Entry entry, List<Source> sources) {
      return (partition == null || partition == entry.source().partition())
          && (since == null || entry.refusedAtEpochMillis() >= since.toEpochMilli())
          && (reason == null || lower(entry.reason()).contains(lower(reason)))
          && (client == null || client.equals(entry.client()))
          && (sources.isEmpty() || sources.stream().anyMatch(one -> one.holds(entry.source())));
    }

    private static String lower(String text) {
      return text.toLowerCase(Locale.ROOT);
    }
  }

  @Command(
      name = "list",
      mixinStandardHelpOptions = true,
      sortOptions = false,
      description = {
        "List the refused lines, each once: the place, the reason, the number of refusals and the "
            + "state. 'waits': the line can be replayed. 'stays': the line cannot be replayed, or "
            + "cannot be replayed yet; the last column has the reason. 'counted': the line was "
            + "replayed.",
        "A line stays if it is older than WEIR_LATENESS, because it would be refused again. A line "
            + "also stays while the sum of its window is at the maximum. The line can be replayed "
            + "when other calls of the window are settled at lower costs."
      },
      exitCodeListHeading = "%nExit status:%n",
      exitCodeList = {
        "0:the list is complete",
        "1:Kafka failed",
        "2:an option or a variable is wrong"
      },
      footerHeading = "%nExamples:%n",
      footer = {
        "  weir quarantine list",
        "  weir quarantine list --client acme --since 2026-11-21T00:00:00Z --json",
        "  weir quarantine list --reason future 3@8812"
      })
  int list(
      @Mixin Filters filters,
      @Option(names = "--json", description = "print one JSON object instead of a table")
          boolean json)
      throws IOException {
    SortedMap<Source, Entry> found = select(filters, quarantine());
    PrintWriter out = terminal.out();
    if (json) {
      QuarantineTable.printJson(out, found.values());
    } else {
      QuarantineTable.print(out, found.values());
    }
    return 0;
  }

  @Command(
      name = "replay",
      mixinStandardHelpOptions = true,
      sortOptions = false,
      description = {
        "Send the waiting lines of the quarantine to the calls topic again, and wait until they "
            + "are counted. Each line counts in the window of its decision. A closed window gets "
            + "an adjustment.",
        "Each line is counted once, even if it is sent several times. So you can repeat an "
            + "interrupted run. Nothing is removed from the quarantine. 'weir verify' then expects "
            + "the replayed lines in the ledger. Upgrade all aggregators first: older aggregators do "
            + "not support replays."
      },
      exitCodeListHeading = "%nExit status:%n",
      exitCodeList = {
        "0:all selected lines are counted, or would be sent (--dry-run)",
        "1:some lines stay, were refused again or are not counted yet (each is printed); or"
            + " Kafka failed",
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
      @Option(names = "--dry-run", description = "print what would be sent, and send nothing")
          boolean dryRun,
      @Option(
              names = "--wait",
              paramLabel = "D",
              defaultValue = "PT1M",
              description =
                  "maximum time to wait until the sent lines are counted (${DEFAULT-VALUE})")
          Duration timeout)
      throws InterruptedException {
    terminal.require(!timeout.isNegative(), "--wait must not be negative, but is " + timeout);
    QuarantineContent quarantine = quarantine();
    SortedMap<Source, Entry> selected = select(filters, quarantine);
    PrintWriter out = terminal.out();
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
        dryRun || staying == selected.size() || sendAndPrint(quarantine, selected, timeout);
    return done && staying == 0 ? 0 : LEFT;
  }

  /**
   * Sends the selected entries and prints the result.
   *
   * @return whether all sent entries are counted
   */
  private boolean sendAndPrint(
      QuarantineContent quarantine, SortedMap<Source, Entry> selected, Duration timeout)
      throws InterruptedException {
    ReplayResult account =
        withProgress(
            progress -> {
              try {
                return new Replayer(quarantine, selected).run(timeout, progress);
              } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                throw new CommandFailedException("interrupted; run the command again", interrupted);
              }
            });
    PrintWriter out = terminal.out();
    long counted = account.count(ReplayResult.Outcome.COUNTED);
    long refused = account.count(ReplayResult.Outcome.REFUSED);
    new TreeMap<>(account.fates())
        .forEach(
            (source, fate) -> {
              if (fate.outcome() != ReplayResult.Outcome.COUNTED) {
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

  private QuarantineContent quarantine() {
    Duration lateness = terminal.weir().duration("WEIR_LATENESS", Topics.LATENESS);
    return new QuarantineContent(terminal.weir().kafka(), lateness, System.currentTimeMillis());
  }

  private SortedMap<Source, Entry> select(Filters filters, QuarantineContent quarantine) {
    List<Source> places = filters.places.stream().map(this::place).toList();
    SortedMap<Source, Entry> all = withProgress(quarantine::read);
    for (Source place : places) {
      if (all.keySet().stream().noneMatch(place::holds)) {
        throw new CommandFailedException("the quarantine has no entry at " + place);
      }
    }
    SortedMap<Source, Entry> found = new TreeMap<>(all);
    found.values().removeIf(entry -> !filters.includes(entry, places));
    return found;
  }

  private Source place(String text) {
    Source place = Source.parse(text);
    if (place == null) {
      throw terminal.wrong(
          "a place must be partition@offset or partition@offset:line, but is '" + text + "'");
    }
    return place;
  }

  private <T> T withProgress(Function<ReadProgress, T> work) {
    try (ProgressBar bar = Bars.named("quarantine").build()) {
      return work.apply((what, done, total) -> Bars.show(bar, what, done, total));
    }
  }
}
