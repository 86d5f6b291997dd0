// SPDX-License-Identifier: Apache-2.0
package io.weir.testing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Help.Ansi;

/**
 * The usage texts in {@code help/} that {@code ./weir} prints without building anything: one for
 * each command, as the command itself prints it. {@code -Dweir.help.write=true} writes them.
 */
public final class HelpFiles {
  private static final Path FOLDER = Path.of("..", "help");

  private HelpFiles() {}

  /**
   * Compares the files of a command, and of its subcommands, with the usage texts that these print.
   *
   * @return the files that differ; empty if all are up to date
   */
  public static List<String> differences(CommandLine command) throws IOException {
    List<String> different = new ArrayList<>();
    String name = command.getCommandSpec().qualifiedName("-").replace(' ', '-');
    String usage = command.getUsageMessage(Ansi.OFF);
    Path file = FOLDER.resolve(name.replaceFirst("^weir-", "") + ".txt");
    if (Boolean.getBoolean("weir.help.write")) {
      Files.createDirectories(FOLDER);
      Files.writeString(file, usage);
    } else if (!Files.exists(file) || !Files.readString(file).equals(usage)) {
      different.add(file + "; -Dweir.help.write=true writes it anew");
    }
    for (CommandLine below : command.getSubcommands().values()) {
      if (!below.getCommandName().equals("help")) {
        different.addAll(differences(below));
      }
    }
    return different;
  }
}
