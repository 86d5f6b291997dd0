// SPDX-License-Identifier: Apache-2.0
package io.weir.testing.suite;

import static java.lang.ProcessBuilder.Redirect.DISCARD;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.weir.testing.Await;
import io.weir.testing.Checkout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The script {@code weir}, with a {@code java} that prints what it gets and a {@code mvn}. */
final class ScriptTest {
  private static final String JAVA =
      """
      #!/bin/sh
      case "$*" in
        *-XshowSettings*) echo ' java.specification.version = 17' >&2 ;;
        *SuiteCommand*)
          [ ! -e /proc/self/fd/9 ] || exit 8
          cd "$(dirname "$0")/../.."
          mkdir busy || exit 9
          while [ -f wait ]; do sleep 0.1; done
          rmdir busy
          ;;
        *) echo "policies=${WEIR_POLICIES:-none}"; echo "$*" > "$0.arguments" ;;
      esac
      """;

  /** Fails if another one or the suite runs; ends when there is no file {@code wait}. */
  private static final String MVN =
      """
      #!/bin/sh
      mkdir busy || exit 9
      while [ -f wait ]; do sleep 0.1; done
      rmdir busy
      touch cli/target/cli-0.1.0-SNAPSHOT.jar
      """;

  @TempDir private Path root;
  private Path folder;

  /** Places the script next to a cli that needs no build. */
  @BeforeEach
  void place() throws IOException {
    folder = Files.createDirectory(root.resolve("elsewhere"));
    Files.copy(Checkout.file("weir"), root.resolve("weir"));
    Path help = Files.createDirectories(root.resolve("cli/target/help"));
    for (String command : new String[] {"ingest", "policies", "up"}) {
      Files.createFile(help.resolve(command + ".txt"));
    }
    Path target = Files.createDirectories(root.resolve("cli/target"));
    Files.createFile(target.resolve("cli-0.1.0-SNAPSHOT.jar"));
    Files.createFile(target.resolve("weir.built"));
    Path bin = Files.createDirectories(root.resolve("jdk/bin"));
    for (String name : new String[] {"java", "javac", "mvn"}) {
      Files.setPosixFilePermissions(
          Files.writeString(bin.resolve(name), name.equals("mvn") ? MVN : JAVA),
          PosixFilePermissions.fromString("rwx------"));
    }
  }

  private ProcessBuilder script(Path weir, Map<String, String> variables, String... arguments) {
    List<String> command = new ArrayList<>(List.of("bash", weir.toString()));
    command.addAll(List.of(arguments));
    ProcessBuilder script = new ProcessBuilder(command).directory(folder.toFile());
    script.environment().keySet().removeIf(name -> name.startsWith("WEIR_"));
    script.environment().put("JAVA_HOME", root.resolve("jdk").toString());
    script.environment().merge("PATH", root.resolve("jdk/bin") + ":", (path, own) -> own + path);
    script.environment().putAll(variables);
    return script;
  }

  private String run(String command, Map<String, String> variables) throws Exception {
    Path output = root.resolve("output");
    ProcessBuilder script =
        script(root.resolve("weir"), variables, command).redirectOutput(output.toFile());
    assertEquals(0, script.start().waitFor());
    return Files.readString(output).strip();
  }

  private String arguments() throws IOException {
    return Files.readString(root.resolve("jdk/bin/java.arguments")).strip();
  }

  /** Makes the build of cli older than its sources. */
  private void changeSources() throws IOException {
    Path sources = Files.createDirectories(root.resolve("cli/src/main"));
    FileTime built = FileTime.from(Instant.EPOCH);
    Files.setLastModifiedTime(root.resolve("cli/target/weir.built"), built);
    Files.createFile(sources.resolve("New.java"));
  }

  /** A node in an empty folder once published the sample over the policies of its fleet. */
  @Test
  void ingestAndCommands_inAnEmptyFolder_haveNoPolicyFile() throws Exception {
    assertEquals("policies=none", run("ingest", Map.of("WEIR_KAFKA", "kafka:9092")));
    assertEquals("policies=none", run("policies", Map.of("WEIR_KAFKA", "kafka:9092")));
    assertEquals("policies=none", run("up", Map.of("WEIR_KAFKA", "kafka:9092")));
  }

  @Test
  void up_withItsOwnKafka_hasTheSampleUnlessThereIsAnotherFile() throws Exception {
    assertEquals("policies=" + root.resolve("deploy/policies.yml"), run("up", Map.of()));
    assertEquals("policies=my.yml", run("up", Map.of("WEIR_POLICIES", "my.yml")));
    Files.createFile(folder.resolve("policies.yml"));
    assertEquals("policies=none", run("up", Map.of()));
  }

  /** It once looked for everything next to the link. */
  @Test
  void script_throughASymbolicLink_runsItsCheckout() throws Exception {
    Path link = Files.createSymbolicLink(folder.resolve("weir"), Path.of("../weir"));

    assertEquals(0, script(link, Map.of(), "up", "a b").start().waitFor());
    assertTrue(arguments().endsWith("io.weir.cli.WeirCommand up a b"), arguments());
    assertTrue(arguments().contains("-cp " + root.toRealPath() + "/cli/target/"), arguments());
  }

  /** Each was once refused as unknown. */
  @Test
  void help_ofACommandOfTheScript_isPrinted() throws Exception {
    Path target = Files.createDirectories(root.resolve("tools/simulation/target"));
    Files.createFile(target.resolve("simulation-0.1.0-SNAPSHOT.jar"));
    Files.createFile(target.resolve("weir.built"));
    Path weir = root.resolve("weir");

    assertEquals(0, script(weir, Map.of(), "help", "sim").start().waitFor());
    assertTrue(arguments().endsWith("SimulationMain sim --help"), arguments());
    for (String command : List.of("build", "jdk")) {
      for (List<String> words : List.of(List.of("help", command), List.of(command, "--help"))) {
        Process script = script(weir, Map.of(), words.toArray(String[]::new)).start();
        assertTrue(script.inputReader().readLine().startsWith("Usage: weir " + command));
        assertEquals(0, script.waitFor());
      }
    }
  }

  @Test
  void unknownCommand_isRefused_butNotByTheFilesOfAnOlderBuild() throws Exception {
    Path weir = root.resolve("weir");
    assertEquals(2, script(weir, Map.of(), "fresh").start().waitFor());

    changeSources();
    assertEquals(0, script(weir, Map.of(), "fresh").start().waitFor());
    assertTrue(arguments().endsWith("io.weir.cli.WeirCommand fresh"), arguments());
  }

  /** The second once built over the first, and both failed. */
  @ParameterizedTest
  @CsvSource({"build, build", "test, test", "test, build", "build, test"})
  void buildsAndTestRuns_runOneAfterTheOther(String first, String second) throws Exception {
    assumeTrue(Files.isExecutable(Path.of("/usr/bin/flock")), "needs flock");
    Path target = Files.createDirectories(root.resolve("tools/testing/target"));
    Files.createFile(Files.createDirectory(target.resolve("lib")).resolve("library.jar"));
    Files.createFile(target.resolve("testing-0.1.0-SNAPSHOT.jar"));
    Files.createFile(target.resolve("weir.built"));
    changeSources();
    Path wait = Files.createFile(root.resolve("wait"));
    Path weir = root.resolve("weir");
    Process one = script(weir, Map.of(), first).redirectError(DISCARD).start();
    Await.until("it runs", () -> Files.exists(root.resolve("busy")));
    Process other = script(weir, Map.of(), second).redirectErrorStream(true).start();

    String line =
        other.inputReader().lines().filter(each -> each.startsWith("weir:")).findFirst().orElse("");
    Files.delete(wait);
    assertEquals(0, one.waitFor());
    assertEquals(0, other.waitFor(), line);
    assertTrue(line.startsWith("weir: waiting for another build or test run"), line);
  }

  /** It once built everything first. */
  @Test
  void version_isPrintedWithoutAJdk() throws Exception {
    Map<String, String> noJdk = Map.of("JAVA_HOME", root.resolve("none").toString());
    assertEquals("weir 0.1.0", run("--version", noJdk));
    assertEquals("weir 0.1.0", run("-V", noJdk));
  }
}
