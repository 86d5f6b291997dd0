// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import io.weir.cli.console.CommandContext;
import picocli.CommandLine.Command;
import picocli.CommandLine.ParentCommand;

/** Sends the ledger to billing services. */
@Command(
    name = "export",
    mixinStandardHelpOptions = true,
    description = {"Send the rows of the ledger to a billing service.", "Needs WEIR_KAFKA."},
    subcommands = StripeCommand.class)
public final class ExportCommand {
  @ParentCommand
  @SuppressWarnings("NullAway.Init") // set by picocli before a command runs
  private CommandContext weir;

  /** Returns the parent command. */
  CommandContext weir() {
    return weir;
  }
}
