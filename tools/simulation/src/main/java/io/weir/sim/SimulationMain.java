// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import java.util.Locale;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** The command line of the simulation, {@code ./weir sim}. */
@Command(
    name = "weir",
    mixinStandardHelpOptions = true,
    description = "Tests Weir in virtual time.",
    subcommands = {SimCommand.class, CommandLine.HelpCommand.class})
public final class SimulationMain implements Runnable {
  @Spec
  @SuppressWarnings("NullAway.Init") // set by picocli before a command runs
  private CommandSpec spec;

  /** Runs a command line and exits with its status. */
  public static void main(String[] arguments) {
    Locale.setDefault(Locale.ROOT);
    System.exit(new CommandLine(new SimulationMain()).execute(arguments));
  }

  @Override
  public void run() {
    spec.commandLine().usage(spec.commandLine().getOut());
  }
}
