// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import picocli.CommandLine.Command;

/** Sends the ledger to billing services. */
@Command(
    name = "export",
    mixinStandardHelpOptions = true,
    description = {"Send the rows of the ledger to a billing service.", "Needs WEIR_KAFKA."},
    subcommands = StripeCommand.class)
public final class ExportCommand {}
