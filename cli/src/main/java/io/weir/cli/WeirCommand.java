// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import io.weir.aggregator.AggregatorStartException;
import io.weir.cli.calls.CallsCommand;
import io.weir.cli.clients.ClientsCommand;
import io.weir.cli.clients.TokensCommand;
import io.weir.cli.console.Bars;
import io.weir.cli.console.CommandContext;
import io.weir.cli.console.CommandFailedException;
import io.weir.cli.console.Stop;
import io.weir.cli.policies.PoliciesCommand;
import io.weir.cli.quarantine.QuarantineCommand;
import io.weir.cli.replay.ReplayCommand;
import io.weir.cli.run.AggregateCommand;
import io.weir.cli.run.DemoCommand;
import io.weir.cli.run.IngestCommand;
import io.weir.cli.run.UpCommand;
import io.weir.cli.simulate.SimulateCommand;
import io.weir.cli.stripe.ExportCommand;
import io.weir.cli.topics.LedgerCommand;
import io.weir.cli.topics.TopicsCommand;
import io.weir.cli.verify.VerifyCommand;
import io.weir.ingest.IngestStartException;
import io.weir.ingest.record.CallLogStartException;
import io.weir.servers.ServerStartException;
import io.weir.topics.catalog.TopicAdmin.TopicAdminException;
import io.weir.topics.kafka.KafkaRefusal;
import io.weir.topics.settings.Settings;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.charset.Charset;
import java.nio.file.InvalidPathException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.format.DateTimeParseException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.streams.errors.StreamsException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The command line of {@code ./weir}. */
@Command(
    name = "weir",
    mixinStandardHelpOptions = true,
    version = "weir 0.1.0",
    description = "Meters API traffic exactly, and limits it synchronously.",
    subcommands = {
      DemoCommand.class,
      UpCommand.class,
      IngestCommand.class,
      AggregateCommand.class,
      TopicsCommand.class,
      PoliciesCommand.class,
      ClientsCommand.class,
      TokensCommand.class,
      VerifyCommand.class,
      QuarantineCommand.class,
      LedgerCommand.class,
      CallsCommand.class,
      ExportCommand.class,
      SimulateCommand.class,
      ReplayCommand.class,
      CommandLine.HelpCommand.class
    },
    footerHeading = "%n",
    footer =
        "The script itself runs four more commands: 'weir test' (the test suite), 'weir sim' (the "
            + "deterministic simulation), 'weir chaos' (faults on real processes) and 'weir build' "
            + "(build the parts that have changed). Settings are environment variables; "
            + "'weir COMMAND --help' lists the variables of a command.")
public final class WeirCommand implements CommandContext {
  /**
   * The error message for a command without its required subcommand. Weir prints the help text
   * instead of this message.
   */
  static final String MISSING_SUBCOMMAND = "Missing required subcommand";

  private static final Pattern LOG_LEVEL =
      Pattern.compile("trace|debug|info|warn|error|off", Pattern.CASE_INSENSITIVE);

  private static final int MISUSED = 2;

  private final Map<String, String> environment;
  private final Supplier<@Nullable String> answers;

  WeirCommand(Map<String, String> environment) {
    this(environment, WeirCommand::lineOfTerminal);
  }

  /**
   * Creates a command line.
   *
   * @param answers supplies the next line that the user types; null if there is no terminal
   */
  WeirCommand(Map<String, String> environment, Supplier<@Nullable String> answers) {
    this.environment = Map.copyOf(environment);
    this.answers = answers;
  }

  /** Runs a command line and ends the process with its exit status. */
  public static void main(String[] arguments) {
    // libraries convert names of constants by the default locale, which fails in Turkish
    Locale.setDefault(Locale.ROOT);
    // JDK 22 to 24 would otherwise have a console without a terminal
    System.setProperty("jdk.console", "java.base");
    for (String variable : List.of("WEIR_LOG", "WEIR_LOG_LIBRARIES")) {
      String level = System.getenv().getOrDefault(variable, "");
      if (!level.isEmpty() && !LOG_LEVEL.matcher(level).matches()) {
        System.err.printf(
            "weir: %s must be one of trace, debug, info, warn, error, off, but is '%s'%n",
            variable, level);
        System.exit(MISUSED);
      }
    }
    int status = commandLine(System.getenv()).execute(arguments);
    Stop.endingWith(status);
    System.exit(status);
  }

  /** Returns the next line that the user types; null if the command does not run on a terminal. */
  private static @Nullable String lineOfTerminal() {
    // since JDK 22, System.console() returns a console even without a terminal
    if (!Bars.onTerminal()) {
      return null;
    }
    try {
      return new BufferedReader(new InputStreamReader(System.in, Charset.defaultCharset()))
          .readLine();
    } catch (IOException unreadable) {
      throw new UncheckedIOException("standard input cannot be read", unreadable);
    }
  }

  private static Duration duration(String text) {
    try {
      return Duration.parse(text);
    } catch (DateTimeParseException notADuration) {
      throw new CommandLine.TypeConversionException(
          "'" + text + "' is not an ISO 8601 duration such as PT1M");
    }
  }

  private static Instant instant(String text) {
    try {
      return OffsetDateTime.parse(text).toInstant();
    } catch (DateTimeParseException notATime) {
      throw new CommandLine.TypeConversionException(
          "'" + text + "' is not an RFC 3339 time such as 2026-11-21T00:00:00Z");
    }
  }

  static CommandLine commandLine(Map<String, String> environment) {
    return commandLine(environment, WeirCommand::lineOfTerminal);
  }

  static CommandLine commandLine(
      Map<String, String> environment, Supplier<@Nullable String> answers) {
    CommandLine commandLine = new CommandLine(new WeirCommand(environment, answers));
    commandLine.setUsageHelpWidth(VariablesSection.WIDTH);
    commandLine.registerConverter(Duration.class, WeirCommand::duration);
    commandLine.registerConverter(Instant.class, WeirCommand::instant);
    VariablesSection.addTo(commandLine);
    commandLine.setExecutionExceptionHandler(
        (failure, command, parsed) -> {
          if (failure instanceof InvalidPathException path) {
            command.getErr().println("weir: " + unusablePath(path));
            command.getErr().flush();
            return MISUSED;
          }
          KafkaException ofKafka = ofKafka(failure);
          if (!isExplained(failure) && ofKafka == null) {
            throw failure;
          }
          String why =
              ofKafka == null || isExplained(failure)
                  ? failure.getMessage()
                  : ofKafka(ofKafka, environment.getOrDefault(KAFKA, ""));
          PrintWriter err = command.getErr();
          err.println("weir: " + why);
          err.flush();
          return failure instanceof Settings.InvalidSettingException ? MISUSED : FAILED;
        });
    CommandLine.IParameterExceptionHandler withUsage = commandLine.getParameterExceptionHandler();
    commandLine.setParameterExceptionHandler(
        (wrong, arguments) -> {
          CommandLine command = wrong.getCommandLine();
          if (MISSING_SUBCOMMAND.equals(wrong.getMessage())) {
            return withUsage.handleParseException(wrong, arguments);
          }
          PrintWriter err = command.getErr();
          err.println("weir: " + wrong.getMessage());
          CommandLine.UnmatchedArgumentException.printSuggestions(wrong, err);
          err.println(
              command.getCommandSpec().qualifiedName(" ")
                  + " --help lists its options and variables");
          err.flush();
          return MISUSED;
        });
    return commandLine;
  }

  private static String unusablePath(InvalidPathException path) {
    return "the path '%s' cannot be used: %s. A name with characters beyond ASCII needs a UTF-8 locale: set LC_ALL=C.UTF-8"
        .formatted(path.getInput(), path.getReason());
  }

  /**
   * Returns the innermost cause that is an exception of Kafka's client; null if there is none. The
   * innermost exception is the original failure. For example, the client wraps the exception about
   * a wrong address in an exception that reports only the failed creation of the client. Exceptions
   * of Kafka Streams are ignored, because they concern the store of Kafka Streams or our code.
   */
  private static @Nullable KafkaException ofKafka(Throwable failure) {
    KafkaException deepest = null;
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof KafkaException of && !(of instanceof StreamsException)) {
        deepest = of;
      }
    }
    return deepest;
  }

  /** Returns the error message for a failure of Kafka. */
  static String ofKafka(KafkaException failure, String servers) {
    return failure instanceof TimeoutException
        ? "Kafka does not answer at " + servers + " (" + KAFKA + "): " + failure.getMessage()
        : "Kafka ("
            + KAFKA
            + ") at "
            + servers
            + ": "
            + KafkaRefusal.explain(failure, "Read", failure.getMessage());
  }

  /** Returns whether the message of a failure names the problem and the remedy. */
  private static boolean isExplained(Exception failure) {
    return failure instanceof CommandFailedException
        || failure instanceof ServerStartException
        || failure instanceof TopicAdminException
        || failure instanceof IngestStartException
        || failure instanceof CallLogStartException
        || failure instanceof AggregatorStartException
        || failure instanceof Settings.InvalidSettingException;
  }

  /** Returns the process's variables. Only {@link #main} reads the variables from the system. */
  @Override
  public Map<String, String> environment() {
    return environment;
  }

  @Override
  public boolean confirms(PrintWriter out, String question) {
    out.print(question + " [y/N] ");
    out.flush();
    String answer = answers.get();
    if (answer == null) {
      out.println();
    }
    return answer != null && answer.strip().toLowerCase(Locale.ROOT).matches("y|yes");
  }
}
