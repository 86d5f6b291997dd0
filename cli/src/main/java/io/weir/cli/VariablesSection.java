// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import io.weir.topics.kafka.KafkaConnection;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import picocli.CommandLine;
import picocli.CommandLine.Help;
import picocli.CommandLine.Model.UsageMessageSpec;

/**
 * Adds the variables of a command as a section to its help text. The section comes from the tables
 * in {@code docs/configuration.md}, so help and docs agree.
 */
final class VariablesSection {
  /** Width of help texts, in terminal columns. */
  static final int WIDTH = 100;

  private static final String KEY = "variables";
  private static final String RESOURCE = "configuration.md";
  private static final int INDENT = 6;

  /**
   * Beginning of the line above a table. The line names the commands that read the table's
   * variables.
   */
  private static final String READ_BY = "Read by ";

  /** The variables of each command that has no table of its own. */
  private static final Map<String, Set<String>> NAMES =
      Map.ofEntries(
          Map.entry(
              "demo", Set.of("WEIR_DATA", "WEIR_PARTITIONS", "WEIR_KAFKA_PORT", "WEIR_REDIS_PORT")),
          Map.entry("topics create", Set.of("WEIR_KAFKA", "WEIR_SINGLE_COPY")),
          Map.entry(
              "topics check", Set.of("WEIR_KAFKA", "WEIR_SINGLE_COPY", "WEIR_APPLICATION_PREFIX")),
          Map.entry("policies check", Set.of("WEIR_POLICIES", "WEIR_KAFKA")),
          Map.entry("policies explain", Set.of("WEIR_POLICIES")),
          Map.entry("policies apply", Set.of("WEIR_POLICIES", "WEIR_KAFKA")),
          Map.entry("policies diff", Set.of("WEIR_POLICIES", "WEIR_KAFKA")),
          Map.entry("policies list", Set.of("WEIR_KAFKA")),
          Map.entry("policies export", Set.of("WEIR_KAFKA")),
          Map.entry("policies history", Set.of("WEIR_KAFKA")),
          Map.entry("policies switch", Set.of("WEIR_KAFKA")),
          Map.entry("clients list", Set.of("WEIR_KAFKA")),
          Map.entry("clients set", Set.of("WEIR_KAFKA")),
          Map.entry("clients delete", Set.of("WEIR_KAFKA")),
          Map.entry("clients erase", Set.of("WEIR_KAFKA", "WEIR_LATENESS")),
          Map.entry("clients keys create", Set.of("WEIR_KAFKA")),
          Map.entry("clients keys list", Set.of("WEIR_KAFKA")),
          Map.entry("clients keys revoke", Set.of("WEIR_KAFKA")),
          Map.entry("quarantine list", Set.of("WEIR_KAFKA", "WEIR_LATENESS")),
          Map.entry("quarantine replay", Set.of("WEIR_KAFKA", "WEIR_LATENESS")),
          Map.entry("ledger tail", Set.of("WEIR_KAFKA")),
          Map.entry("calls", Set.of("WEIR_KAFKA", "WEIR_LATENESS")),
          Map.entry("export stripe", Set.of("WEIR_KAFKA")),
          Map.entry("replay", Set.of("WEIR_KAFKA")),
          Map.entry("tokens create", Set.of("WEIR_TOKENS_FILE")),
          Map.entry("tokens list", Set.of("WEIR_TOKENS_FILE")),
          Map.entry("tokens revoke", Set.of("WEIR_TOKENS_FILE")),
          Map.entry(
              "verify",
              Set.of("WEIR_KAFKA", "WEIR_WINDOW", "WEIR_LATENESS", "WEIR_QUARANTINE_RECORDS")));

  private VariablesSection() {}

  /** Adds the section to a command and its subcommands. */
  static void addTo(CommandLine command) {
    List<String> keys = new ArrayList<>(command.getHelpSectionKeys());
    keys.add(keys.indexOf(UsageMessageSpec.SECTION_KEY_FOOTER_HEADING), KEY);
    command.setHelpSectionKeys(keys);
    fill(command);
  }

  private static void fill(CommandLine command) {
    command.getHelpSectionMap().put(KEY, VariablesSection::render);
    command.getSubcommands().values().forEach(VariablesSection::fill);
  }

  private static String render(Help help) {
    String command = help.commandSpec().qualifiedName(" ").replaceFirst("^weir ", "");
    StringBuilder text = new StringBuilder();
    List<String[]> rows = new ArrayList<>(named(NAMES.getOrDefault(command, Set.of())));
    if (command.equals("policies check")) {
      rows.stream()
          .filter(row -> row[0].equals(KafkaConnection.VARIABLE))
          .forEach(row -> row[2] = "required only for --against-usage");
    }
    rows.addAll(readBy(command));
    for (String[] row : rows) {
      text.append("  ").append(row[0]).append(" (").append(row[2]).append(")\n");
      wrap(text, row[1]);
    }
    return rows.isEmpty() ? "" : "\nVariables (and their defaults):\n" + text;
  }

  /** Returns the table rows of some variables. The tables of {@code up} contain all variables. */
  private static List<String[]> named(Set<String> names) {
    Set<String> wanted = new HashSet<>(names);
    if (names.contains(KafkaConnection.VARIABLE)) {
      wanted.add(KafkaConnection.FILE);
    }
    return readBy("up").stream()
        .filter(row -> List.of(row[0].split(", ", -1)).stream().anyMatch(wanted::contains))
        .toList();
  }

  /**
   * Returns the rows of the tables that name a command as a reader: names, meaning and default as
   * plain text.
   */
  private static List<String[]> readBy(String command) {
    List<String[]> rows = new ArrayList<>();
    boolean isRead = false;
    for (String line : page().lines().toList()) {
      if (line.startsWith("#")) {
        isRead = false;
      } else if (line.startsWith(READ_BY)) {
        isRead = line.contains('`' + command + '`');
      } else if (isRead && line.startsWith("| `")) {
        String[] cells = line.split(" \\| |^\\| | \\|$", -1);
        rows.add(new String[] {plain(cells[1]), plain(cells[2]), plain(cells[3])});
      }
    }
    return rows;
  }

  private static String plain(String markdown) {
    return markdown.replaceAll("\\[([^]]*)]\\([^)]*\\)", "$1").replace("`", "");
  }

  private static void wrap(StringBuilder text, String words) {
    int column = 0;
    for (String word : words.split(" ", -1)) {
      if (column > 0 && column + 1 + word.length() > WIDTH) {
        text.append('\n');
        column = 0;
      }
      text.append(column == 0 ? " ".repeat(INDENT) : " ").append(word);
      column += (column == 0 ? INDENT : 1) + word.length();
    }
    text.append('\n');
  }

  private static String page() {
    try (InputStream file =
        Objects.requireNonNull(VariablesSection.class.getResourceAsStream(RESOURCE), RESOURCE)) {
      return new String(file.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException unreadable) {
      throw new UncheckedIOException(RESOURCE, unreadable);
    }
  }
}
