// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher;

import io.weir.aggregator.AggregatorStartException;
import io.weir.ingest.IngestStartException;
import io.weir.ingest.record.CallLogStartException;
import io.weir.servers.ServerStartException;
import io.weir.topics.catalog.TopicAdmin.TopicAdminException;
import io.weir.topics.settings.Settings;
import java.io.PrintWriter;
import java.util.Map;
import org.apache.kafka.common.KafkaException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** The command line of {@code ./weir}. */
@Command(
    name = "weir",
    mixinStandardHelpOptions = true,
    version = "weir 0.1.0",
    description = "Measures API traffic exactly, and holds it back synchronously.",
    subcommands = {
      DemoCommand.class,
      UpCommand.class,
      IngestCommand.class,
      AggregateCommand.class,
      TopicsCommand.class,
      PoliciesCommand.class,
      VerifyCommand.class,
      QuarantineCommand.class,
      LedgerCommand.class,
      CommandLine.HelpCommand.class
    },
    footerHeading = "%n",
    footer =
        "Four more are run by the script itself: 'weir test' (the test suite), 'weir sim' (the "
            + "deterministic simulation), 'weir chaos' (faults on real processes) and 'weir build' "
            + "(build what is stale). Settings come from variables; 'weir COMMAND --help' names those "
            + "of a command.")
public final class WeirCommand implements Runnable {
  private final Map<String, String> environment;

  @Spec
  @SuppressWarnings("NullAway.Init") // set by picocli before a command runs
  private CommandSpec spec;

  WeirCommand(Map<String, String> environment) {
    this.environment = Map.copyOf(environment);
  }

  /** Runs a command line and ends the process with its status. */
  public static void main(String[] arguments) {
    System.exit(commandLine(System.getenv()).execute(arguments));
  }

  static CommandLine commandLine(Map<String, String> environment) {
    CommandLine commandLine = new CommandLine(new WeirCommand(environment));
    commandLine.setUsageHelpWidth(VariablesSection.WIDTH);
    VariablesSection.addTo(commandLine);
    commandLine.setExecutionExceptionHandler(
        (failure, command, parsed) -> {
          KafkaException ofKafka = ofKafka(failure);
          if (!isExplained(failure) && ofKafka == null) {
            throw failure;
          }
          String why =
              ofKafka == null || isExplained(failure)
                  ? failure.getMessage()
                  : "Kafka (WEIR_KAFKA) at "
                      + environment.getOrDefault("WEIR_KAFKA", "")
                      + ": "
                      + ofKafka.getMessage();
          PrintWriter err = command.getErr();
          err.println("weir: " + why);
          err.flush();
          return 1;
        });
    return commandLine;
  }

  /**
   * What Kafka's client said first: it wraps an address that is wrong into a client that could not
   * be made. Null when the failure is not of Kafka.
   */
  private static @Nullable KafkaException ofKafka(Throwable failure) {
    KafkaException deepest = null;
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof KafkaException of) {
        deepest = of;
      }
    }
    return deepest;
  }

  /** Whether a failure's message says to a person what is wrong and what to change. */
  private static boolean isExplained(Exception failure) {
    return failure instanceof CommandFailedException
        || failure instanceof ServerStartException
        || failure instanceof TopicAdminException
        || failure instanceof IngestStartException
        || failure instanceof CallLogStartException
        || failure instanceof AggregatorStartException
        || failure instanceof Settings.InvalidSettingException;
  }

  /** The variables of the process; the only place that reads them is main. */
  Map<String, String> environment() {
    return environment;
  }

  /** The value of a variable, or a default when it is unset or empty. */
  String setting(String variable, String absent) {
    String value = environment.get(variable);
    return value == null || value.isEmpty() ? absent : value;
  }

  /** The value of a variable that a command cannot do without. */
  String required(String variable, String meaning) {
    String value = environment.get(variable);
    if (value == null || value.isEmpty()) {
      throw new CommandFailedException(variable + " is not set; it names " + meaning);
    }
    return value;
  }

  @Override
  public void run() {
    throw new CommandLine.ParameterException(spec.commandLine(), "Missing required subcommand");
  }
}
