// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import io.weir.e2e.chaos.ChaosCommand;
import java.util.Locale;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** The commands of {@code ./weir} that test real processes of Weir. */
@Command(
    name = "weir",
    mixinStandardHelpOptions = true,
    description = "Tests real processes of Weir.",
    subcommands = {ChaosCommand.class, CommandLine.HelpCommand.class})
public final class E2eCommand implements Runnable {
  @Spec
  @SuppressWarnings("NullAway.Init") // set by picocli before a command runs
  private CommandSpec spec;

  /** Runs a command line and exits with its status. */
  public static void main(String[] arguments) {
    Locale.setDefault(Locale.ROOT);
    System.exit(new CommandLine(new E2eCommand()).execute(arguments));
  }

  @Override
  public void run() {
    spec.commandLine().usage(spec.commandLine().getOut());
  }
}
