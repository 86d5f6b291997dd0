// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import picocli.CommandLine.Command;
import picocli.CommandLine.ParentCommand;

/** Sends the ledger to billing services. */
@Command(
    name = "export",
    mixinStandardHelpOptions = true,
    description = {"Send the rows of the ledger to a billing service.", "Needs WEIR_KAFKA."},
    subcommands = StripeCommand.class)
final class ExportCommand {
  @ParentCommand
  @SuppressWarnings("NullAway.Init") // set by picocli before a command runs
  private WeirCommand weir;

  /** Returns the parent command. */
  WeirCommand weir() {
    return weir;
  }
}
