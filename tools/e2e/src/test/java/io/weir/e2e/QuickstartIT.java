// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.weir.testing.Checkout;
import io.weir.testing.ChildJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Runs the commands of a page in one bash, in an empty folder and on free ports. Compares the
 * output of a command with the lines that the page shows below it; numbers within a line may
 * differ.
 */
@Timeout(600)
final class QuickstartIT {
  private static final Pattern BLOCK = Pattern.compile("(?ms)^```console\n(.*?)^```$");
  private static final String MARK = "@@@";

  @TempDir private Path folder;
  private final FixedPorts ports = new FixedPorts();
  private final int checks = ports.next();
  private final int reports = ports.next();
  private final int kafka = ports.next();
  private final int redis = ports.next();

  /** A command, and the lines that the page shows below it. */
  private record Command(String text, List<String> output) {}

  @ParameterizedTest
  @ValueSource(strings = {"README.md", "docs/quickstart.md"})
  void commandsOfThePage_printWhatItShows(String page) throws Exception {
    assumeTrue(
        hasTools(),
        "needs curl, jq, redis-cli and confluent_kafka of Python: apt-get install curl jq"
            + " redis-tools python3-confluent-kafka tzdata");
    List<Command> commands = commands(Files.readString(Checkout.file(page)));
    writeWrapper();
    Files.createSymbolicLink(folder.resolve("clients"), Checkout.file("clients"));
    Path script = Files.writeString(folder.resolve("script.sh"), script(commands));

    try (WeirProcess bash =
        WeirProcess.startProgram(folder, Map.of(), List.of("bash", script.toString()))) {
      int status = bash.awaitExit();
      List<String> output = bash.output();
      assertEquals(0, status, () -> String.join("\n", output) + "\n" + bash.errors());
      List<List<String>> sections = sections(output);
      assertEquals(commands.size(), sections.size());
      for (int i = 0; i < sections.size(); i++) {
        Command command = commands.get(i);
        if (!command.output().isEmpty()) {
          assertEquals(
              withoutNumbers(command.output()), withoutNumbers(sections.get(i)), command.text());
        }
      }
    }
  }

  private boolean hasTools() throws Exception {
    String tools = "command -v curl jq redis-cli && /usr/bin/python3 -c 'import confluent_kafka'";
    try (WeirProcess bash =
        WeirProcess.startProgram(folder, Map.of(), List.of("bash", "-c", tools))) {
      return bash.awaitExit() == 0;
    }
  }

  /** Returns the commands but for those that build or are tested elsewhere. */
  private static List<Command> commands(String page) {
    List<Command> commands = new ArrayList<>();
    Matcher block = BLOCK.matcher(page);
    while (block.find()) {
      Command last = null;
      String end = "";
      for (String line : block.group(1).lines().toList()) {
        if (line.startsWith("$ ")) {
          last = new Command(line.substring(2), new ArrayList<>());
          commands.add(last);
          end = line.contains("<<END") ? "END" : line.endsWith("\\") ? "\\" : "";
        } else if (last != null && !end.isEmpty()) {
          commands.remove(last);
          last = new Command(last.text() + "\n" + line, last.output());
          commands.add(last);
          end =
              end.equals("END") ? (line.equals("END") ? "" : end) : line.endsWith("\\") ? end : "";
        } else if (last != null) {
          last.output().add(line);
        }
      }
    }
    commands.removeIf(command -> command.text().equals("./weir demo")); // DemoIT
    return commands;
  }

  /** Stands for {@code ./weir}, which would build. */
  private void writeWrapper() throws IOException {
    List<String> java = ChildJvm.command("768m", List.of());
    java.add(WeirProcess.COMMANDS);
    StringBuilder wrapper = new StringBuilder("#!/bin/bash\n");
    wrapper.append("[ \"$1\" != up ] || export WEIR_POLICIES=");
    wrapper.append(Checkout.file("deploy/policies.yml")).append("\nexec");
    java.forEach(word -> wrapper.append(" '").append(word).append('\''));
    Path weir = Files.writeString(folder.resolve("weir"), wrapper + " \"$@\"\n");
    Files.setPosixFilePermissions(weir, PosixFilePermissions.fromString("rwxr-xr-x"));
  }

  private String script(List<Command> commands) {
    StringBuilder script = new StringBuilder("set -eu\ncd '" + folder + "'\n");
    script.append("export WEIR_HTTP_PORT=" + checks + " WEIR_REPORTS_PORT=" + reports + "\n");
    script.append("export WEIR_KAFKA_PORT=" + kafka + " WEIR_REDIS_PORT=" + redis + "\n");
    script.append("redis-cli() { command redis-cli -p " + redis + " \"$@\"; }\n");
    script.append("python3() { WEIR_KAFKA=localhost:" + kafka + " /usr/bin/python3 \"$@\"; }\n");
    script.append("trap 'kill %1; wait %1 || true' EXIT\n");
    for (Command command : commands) {
      script
          .append(
              command
                  .text()
                  .replace("localhost:8080", "localhost:" + checks)
                  .replace("localhost:8081", "localhost:" + reports))
          .append('\n');
      if (command.text().endsWith("weir up &")) {
        // as a reader does: "It is ready when it prints"
        script.setLength(script.length() - 2);
        script.append("> up.log &\n");
        script.append("until grep -q '^weir is ready' up.log; do kill -0 %1; sleep 0.2; done\n");
      }
      script.append("echo '").append(MARK).append("'\n");
    }
    return script.toString();
  }

  /** Returns what each command has printed. */
  private static List<List<String>> sections(List<String> output) {
    List<List<String>> sections = new ArrayList<>();
    List<String> section = new ArrayList<>();
    for (String line : output) {
      if (line.equals(MARK)) {
        sections.add(section);
        section = new ArrayList<>();
      } else {
        section.add(line);
      }
    }
    return sections;
  }

  /** Returns the lines with a 0 for each number; a line that is a number stays. */
  private static List<String> withoutNumbers(List<String> lines) {
    return lines.stream()
        .map(line -> line.matches("\\d+") ? line : line.replaceAll("\\d+", "0"))
        .toList();
  }
}
