// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.testing.Checkout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import picocli.CommandLine.Help.Ansi;

final class HelpTest {
  private static final Pattern VARIABLE = Pattern.compile("\"(WEIR_[A-Z_]+)\"");

  private final CommandLine weir = WeirCommand.commandLine(Map.of());

  private String usage(String command) {
    return Objects.requireNonNull(weir.getSubcommands().get(command)).getUsageMessage(Ansi.OFF);
  }

  @Test
  void helpFiles_areThoseOfAllCommands(@TempDir Path folder) throws IOException {
    Path deleted = Files.createFile(folder.resolve("deleted.txt"));

    HelpFiles.main(new String[] {folder.toString()});

    assertFalse(Files.exists(deleted), "a file of a command that no longer exists");
    assertEquals(weir.getUsageMessage(Ansi.OFF), Files.readString(folder.resolve("weir.txt")));
    assertEquals(usage("up"), Files.readString(folder.resolve("up.txt")));
    assertTrue(Files.readString(folder.resolve("topics-create.txt")).contains("--partitions"));
  }

  @Test
  void usage_listsEveryVariableThatTheProcessReads() throws IOException {
    assertTells("ingest", "ingest-api/src/main/java/io/weir/ingest/IngestConfig.java");
    assertTells(
        "aggregate", "streams-aggregator/src/main/java/io/weir/aggregator/AggregatorConfig.java");
    assertTells("up", "cli/src/main/java/io/weir/cli/run/LocalWeir.java");
    assertTells("verify", "cli/src/main/java/io/weir/cli/verify/VerifyCommand.java");
  }

  /** In the past, {@code up} and {@code verify} listed WEIR_WINDOW twice. */
  @Test
  void usage_listsEachVariableOnce() {
    assertTellsOnce(weir);
  }

  private static void assertTellsOnce(CommandLine command) {
    List<String> told =
        command
            .getUsageMessage(Ansi.OFF)
            .lines()
            .filter(line -> line.startsWith("  WEIR_"))
            .flatMap(line -> Pattern.compile("WEIR_[A-Z_]+").matcher(line).results())
            .map(MatchResult::group)
            .toList();
    assertEquals(told.stream().distinct().toList(), told, command::getCommandName);
    command.getSubcommands().values().forEach(HelpTest::assertTellsOnce);
  }

  @Test
  void usage_fitsATerminal() {
    for (String command : weir.getSubcommands().keySet()) {
      usage(command)
          .lines()
          .forEach(
              line -> assertTrue(line.length() <= VariablesSection.WIDTH, command + ": " + line));
    }
  }

  private void assertTells(String command, String source) throws IOException {
    Set<String> read = new TreeSet<>();
    Matcher variable = VARIABLE.matcher(Files.readString(Checkout.file(source)));
    while (variable.find()) {
      read.add(variable.group(1));
    }
    assertFalse(read.isEmpty(), source);
    String usage = usage(command);
    assertEquals(
        List.of(),
        read.stream()
            .filter(name -> !usage.contains("  " + name) && !usage.contains(", " + name))
            .toList(),
        command);
  }
}
