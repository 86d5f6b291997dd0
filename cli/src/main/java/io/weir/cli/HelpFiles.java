// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import picocli.CommandLine;
import picocli.CommandLine.Help.Ansi;

/**
 * Writes one file with the help text of each command. {@code ./weir} prints these files without
 * starting a JVM. The build runs this class.
 */
final class HelpFiles {
  private HelpFiles() {}

  /**
   * Writes the files, and deletes the files of commands that no longer exist.
   *
   * @param arguments the folder for the files
   */
  public static void main(String[] arguments) throws IOException {
    Path folder = Files.createDirectories(Path.of(arguments[0]));
    try (DirectoryStream<Path> old = Files.newDirectoryStream(folder, "*.txt")) {
      for (Path file : old) {
        Files.delete(file);
      }
    }
    write(WeirCommand.commandLine(Map.of()), "", folder);
  }

  /**
   * Writes the file of a command, and the files of its subcommands with the command's name as
   * prefix.
   */
  private static void write(CommandLine command, String prefix, Path folder) throws IOException {
    String name = prefix.isEmpty() ? "weir" : prefix;
    Files.writeString(folder.resolve(name + ".txt"), command.getUsageMessage(Ansi.OFF));
    for (CommandLine below : command.getSubcommands().values()) {
      String own = below.getCommandName();
      write(below, prefix.isEmpty() ? own : prefix + "-" + own, folder);
    }
  }
}
