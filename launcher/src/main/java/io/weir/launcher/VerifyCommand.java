// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher;

import io.weir.launcher.verify.Verification;
import io.weir.launcher.verify.Verifier;
import io.weir.topics.catalog.Topics;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.format.DateTimeParseException;
import java.util.concurrent.Callable;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import org.apache.kafka.common.KafkaException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Recounts the audit topic and compares with the ledger. */
@Command(
    name = "verify",
    mixinStandardHelpOptions = true,
    description = {
      "Recount the audit topic and compare it with the ledger.",
      "One plain loop, window by window, sharing no code with the aggregator but the wire codecs.",
      "Exit 0 when every closed window agrees, 1 and a table when one does not.",
      "Needs WEIR_KAFKA, and WEIR_WINDOW when the ledger's window is not PT15M."
    })
final class VerifyCommand implements Callable<Integer> {
  @ParentCommand
  @SuppressWarnings("NullAway.Init") // set by picocli before a command runs
  private WeirCommand weir;

  @Spec
  @SuppressWarnings("NullAway.Init")
  private CommandSpec spec;

  @Option(
      names = "--from",
      required = true,
      paramLabel = "T",
      description = "first window start, RFC 3339 (2026-11-21T00:00:00Z)")
  private String from = "";

  @Option(
      names = "--to",
      required = true,
      paramLabel = "T",
      description = "end, exclusive, RFC 3339")
  private String to = "";

  @Option(names = "--client", paramLabel = "C", description = "this client only")
  private @Nullable String client;

  @Option(
      names = "--wait",
      paramLabel = "D",
      defaultValue = "PT1M",
      description = "how long to wait for the aggregator to count what is there (${DEFAULT-VALUE})")
  private Duration patience = Duration.ofMinutes(1);

  @Override
  public Integer call() throws InterruptedException {
    Instant begin = instant("--from", from);
    Instant end = instant("--to", to);
    if (!begin.isBefore(end)) {
      throw new CommandFailedException("--from must be before --to");
    }
    String kafka = weir.required("WEIR_KAFKA", "Kafka's bootstrap servers, host:port");
    Verifier verifier =
        new Verifier(
            kafka,
            duration("WEIR_WINDOW", "PT15M"),
            duration("WEIR_LATENESS", Topics.LATENESS.toString()),
            patience);
    PrintWriter out = spec.commandLine().getOut();
    Verification found = verify(verifier, kafka, begin, end);
    print(out, found);
    return found.differences().isEmpty() ? 0 : 1;
  }

  private Verification verify(Verifier verifier, String kafka, Instant begin, Instant end)
      throws InterruptedException {
    try (ProgressBar bar =
        new ProgressBarBuilder()
            .setTaskName("verify")
            .setStyle(ProgressBarStyle.ASCII)
            .setUpdateIntervalMillis(200)
            .build()) {
      return verifier.verify(
          begin,
          end,
          client,
          (what, done, total) -> {
            bar.setExtraMessage(what);
            bar.maxHint(total);
            bar.stepTo(done);
          });
    } catch (Verifier.BehindException behind) {
      throw new CommandFailedException(String.valueOf(behind.getMessage()), behind);
    } catch (KafkaException failed) {
      throw new CommandFailedException(
          "Kafka at " + kafka + " (WEIR_KAFKA): " + failed.getMessage(), failed);
    }
  }

  static void print(PrintWriter out, Verification found) {
    out.printf(
        "recounted %d calls (%d allowed, %d denied) in %d windows; %d windows are still open%n",
        found.calls(), found.allowed(), found.denied(), found.windows(), found.openWindows());
    out.printf(
        "dropped as duplicate %d, refused as malformed or out of time %d%n",
        found.duplicates(), found.refused());
    if (found.repeatedRows() > 0) {
      out.printf(
          "ledger rows written again, as after a reset of the aggregator: %d%n",
          found.repeatedRows());
    }
    found.differences().forEach(difference -> out.println("DIFFERS " + difference));
    out.printf("%d differences%n", found.differences().size());
    out.flush();
  }

  private Duration duration(String variable, String absent) {
    String text = weir.setting(variable, absent);
    try {
      return Duration.parse(text);
    } catch (DateTimeParseException notADuration) {
      throw new CommandFailedException(
          variable + " must be an ISO 8601 duration such as PT15M, is '" + text + "'",
          notADuration);
    }
  }

  private static Instant instant(String option, String text) {
    try {
      return OffsetDateTime.parse(text).toInstant();
    } catch (DateTimeParseException notATime) {
      throw new CommandFailedException(
          option + " must be an RFC 3339 time such as 2026-11-21T00:00:00Z, is '" + text + "'",
          notATime);
    }
  }
}
