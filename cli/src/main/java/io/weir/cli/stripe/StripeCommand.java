// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import io.weir.cli.console.Bars;
import io.weir.cli.console.StopRequest;
import io.weir.cli.console.Terminal;
import io.weir.cli.records.ReadProgress;
import io.weir.cli.records.TopicReader;
import io.weir.topics.catalog.TopicAdmin;
import io.weir.topics.catalog.TopicAdmin.TopicAdminException;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.settings.Settings.InvalidSettingException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.Callable;
import me.tongfei.progressbar.ProgressBar;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Sends the ledger to Stripe as meter events. */
@Command(
    name = "stripe",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Send the rows of the ledger to Stripe as meter events, each row once, and end; or continue with "
          + "new rows (--follow). A row's record_id is the identifier of the event.",
      "You may stop the command at any moment and run it again: it continues where it stopped. The file "
          + "--state records the sent rows, so keep it as long as invoices.",
      "The command prints each row that it cannot send, and writes it to the file --kept with a reason: "
          + "UNMAPPED_CLIENT, UNMAPPED_METER, NEGATIVE, TOO_OLD (older than Stripe's 35 days), REFUSED (by "
          + "Stripe) or UNCERTAIN. An UNCERTAIN row may have been sent before, and Stripe can no longer "
          + "detect the repetition.",
      "--rows sends the rows of a file of kept rows. It writes UNCERTAIN rows to --kept again, "
          + "unless --resend-uncertain is given."
    },
    exitCodeListHeading = "%nExit status:%n",
    exitCodeList = {
      "0:all rows were sent or have nothing to bill; also after Ctrl-C",
      "1:Kafka, Stripe or the disk failed: run the command again",
      "2:an option, a variable or the mapping is wrong",
      "3:some rows could not be sent and were kept, or some records are not rows and were skipped"
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  weir export stripe --mapping stripe.yml --since 2026-12-01T00:00:00Z --dry-run",
      "  weir export stripe --mapping stripe.yml --since 2026-12-01T00:00:00Z",
      "  weir export stripe --mapping stripe.yml --follow",
      "  mv stripe.state.kept again && weir export stripe --mapping stripe.yml --rows again"
    })
final class StripeCommand implements Callable<Integer> {
  private static final int HAS_KEPT = 3;
  private static final int MAX_RATE = 1_000;
  private static final int MAX_PARALLEL = 64;

  @Mixin private final Terminal terminal = new Terminal();

  @Option(
      names = "--mapping",
      required = true,
      paramLabel = "FILE",
      description =
          "YAML or JSON: 'customers' (a client's customer in Stripe), 'meters' (a meter's event name "
              + "in Stripe), 'not_billed' ('clients', 'meters': lists that are not sent), 'negative' "
              + "('keep', the default, or 'send': rows with a negative quantity)")
  private Path mapping = Path.of("");

  @Option(
      names = "--state",
      paramLabel = "FILE",
      description = "file that records the sent rows (stripe.state)")
  private Path state = Path.of("stripe.state");

  @Option(
      names = "--kept",
      paramLabel = "FILE",
      description =
          "file for rows that cannot be sent, one JSON object a line (the file --state with .kept)")
  private @Nullable Path kept;

  @Option(
      names = "--since",
      paramLabel = "T",
      description =
          "send only rows of windows that start at or after this RFC 3339 time; required if the file "
              + "--state does not exist")
  private @Nullable Instant since;

  @Option(names = "--follow", description = "continue with new rows, until Ctrl-C")
  private boolean follow;

  @Option(
      names = "--rows",
      paramLabel = "FILE",
      description = "send the kept rows of this file instead of the rows of the topic")
  private @Nullable Path rows;

  @Option(
      names = "--resend-uncertain",
      description =
          "with --rows: also send the UNCERTAIN rows, after you have checked that Stripe has none of them")
  private boolean resendUncertain;

  @Option(
      names = "--dry-run",
      description = "print the events as lines of JSON; send nothing, change no file, need no key")
  private boolean dryRun;

  @Option(
      names = "--rate",
      paramLabel = "N",
      description = "maximum number of calls a second, 1 to 1000 (100)")
  private int rate = 100;

  @Option(
      names = "--parallel",
      paramLabel = "N",
      description =
          "maximum number of concurrent calls, 1 to 64 (8); calls for one customer and meter are sequential")
  private int parallel = 8;

  @Option(
      names = "--retry-for",
      paramLabel = "D",
      description = "maximum time to retry an event that Stripe does not accept (PT5M)")
  private Duration retryFor = Duration.ofMinutes(5);

  @Option(
      names = "--accept-gap",
      description =
          "continue although rows expired in the topic before they were exported, or a recreated topic "
              + "may lack rows")
  private boolean acceptGap;

  @Option(
      names = "--url",
      paramLabel = "URL",
      description = "the address of Stripe's API (https://api.stripe.com)")
  private URI url = URI.create("https://api.stripe.com");

  @Override
  public Integer call() throws TopicAdminException {
    requireOptions();
    Path keptFile = kept == null ? state.resolveSibling(state.getFileName() + ".kept") : kept;
    terminal.require(
        rows == null || !rows.toAbsolutePath().equals(keptFile.toAbsolutePath()),
        "--rows must be another file than --kept, to which rows are appended: move it first");
    Mapping names = mapping();
    StripeApi stripe = new StripeApi(url, dryRun ? "" : key(), retryFor, rate);
    KafkaConnection kafka = terminal.weir().kafka();
    String cluster;
    String topicId;
    try (TopicAdmin admin = TopicAdmin.connect(kafka)) {
      cluster = admin.clusterId();
      topicId = admin.topicId(Topics.LEDGER);
    }
    ExportReport report = new ExportReport(dryRun, terminal.out()::println, terminal::warn);
    try (ProgressBar bar = Bars.named("export").build();
        StopRequest stop = StopRequest.watch()) {
      ReadProgress progress = (what, done, total) -> Bars.show(bar, what, done, total);
      try (ExportState exported = ExportState.open(state, dryRun, cluster, since, Instant.now());
          EventSender sender = new EventSender(stripe, exported, parallel)) {
        StripeExport export =
            new StripeExport(
                exported, sender, names, Clock.systemUTC(), keptFile, acceptGap, report);
        if (rows != null) {
          export.exportKept(rows, resendUncertain, progress);
        } else {
          try (TopicReader reader = new TopicReader(kafka, Topics.LEDGER)) {
            noteRecreated(exported.ofTopic(topicId, reader.partitionCount()));
            export.exportTopic(reader, follow, stop::isRequested, progress);
          }
        }
      } finally {
        print(report, keptFile);
      }
      return report.kept() + report.skipped() > 0 ? HAS_KEPT : 0;
    }
  }

  private void noteRecreated(boolean isRecreated) {
    if (isRecreated) {
      terminal.warn(
          "the ledger topic was recreated: the export reads it from the beginning and skips rows"
              + " that were exported before");
    }
  }

  private void print(ExportReport report, Path keptFile) {
    String place = dryRun || report.kept() == 0 ? "" : ", in " + keptFile;
    terminal.out().println(report.summary() + place);
    if (!report.warning().isEmpty()) {
      terminal.warn(report.warning());
    }
  }

  private void requireOptions() {
    terminal.require(rate >= 1 && rate <= MAX_RATE, "--rate must be 1 to 1000, but is " + rate);
    terminal.require(
        parallel >= 1 && parallel <= MAX_PARALLEL,
        "--parallel must be 1 to 64, but is " + parallel);
    terminal.require(
        !retryFor.isNegative() && retryFor.compareTo(Duration.ofHours(1)) <= 0,
        "--retry-for must be PT0S to PT1H, but is " + retryFor);
    terminal.require(rows != null || !resendUncertain, "--resend-uncertain needs --rows");
    terminal.require(rows == null || !follow, "give --rows or --follow, not both");
    boolean isLoopback =
        url.getHost() != null && url.getHost().matches("localhost|127\\.[0-9.]+|\\[::1]");
    terminal.require(
        url.getHost() != null
            && ("https".equals(url.getScheme()) || ("http".equals(url.getScheme()) && isLoopback)),
        "--url must be an https address, since it receives the secret key, but is '" + url + "'");
  }

  /**
   * Returns the secret key from WEIR_STRIPE_KEY, or from the file that WEIR_STRIPE_KEY_FILE names.
   */
  private String key() {
    String key = terminal.weir().setting("WEIR_STRIPE_KEY", "");
    String file = terminal.weir().setting("WEIR_STRIPE_KEY_FILE", "");
    if (key.isEmpty() == file.isEmpty()) {
      throw new InvalidSettingException(
          key.isEmpty()
              ? "WEIR_STRIPE_KEY or WEIR_STRIPE_KEY_FILE must be set: Stripe's secret key, or a"
                  + " restricted key that may write meter events"
              : "WEIR_STRIPE_KEY and WEIR_STRIPE_KEY_FILE must not both be set");
    }
    if (!file.isEmpty()) {
      try {
        key = Files.readString(Path.of(file)).strip();
      } catch (IOException | UncheckedIOException unreadable) {
        throw new InvalidSettingException(
            "WEIR_STRIPE_KEY_FILE must be a readable file, but is '" + file + "'");
      }
    }
    if (!key.matches("[!-~]{1,500}")) {
      throw new InvalidSettingException(
          (file.isEmpty() ? "WEIR_STRIPE_KEY" : "WEIR_STRIPE_KEY_FILE")
              + " must be a key of 1 to 500 printable characters without spaces");
    }
    return key;
  }

  private Mapping mapping() {
    try {
      return Mapping.parse(Files.readString(mapping));
    } catch (IOException unreadable) {
      throw terminal.wrong("--mapping " + mapping + " cannot be read: " + unreadable);
    } catch (IllegalArgumentException wrong) {
      throw terminal.wrong("--mapping " + mapping + ": " + wrong.getMessage());
    }
  }
}
