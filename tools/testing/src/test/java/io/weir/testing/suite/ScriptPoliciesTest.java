// SPDX-License-Identifier: Apache-2.0
package io.weir.testing.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.testing.Checkout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which policy file the script {@code weir} names, run with a {@code java} that prints it. */
final class ScriptPoliciesTest {
  private static final String JAVA =
      """
      #!/bin/sh
      case "$*" in
        *-XshowSettings*) echo ' java.specification.version = 17' >&2 ;;
        *) echo "policies=${WEIR_POLICIES:-none}" ;;
      esac
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
    for (String name : new String[] {"java", "javac"}) {
      Files.setPosixFilePermissions(
          Files.writeString(bin.resolve(name), JAVA), PosixFilePermissions.fromString("rwx------"));
    }
  }

  private String run(String command, Map<String, String> variables) throws Exception {
    Path output = root.resolve("output");
    ProcessBuilder script =
        new ProcessBuilder("bash", root.resolve("weir").toString(), command)
            .directory(folder.toFile())
            .redirectOutput(output.toFile());
    script.environment().keySet().removeIf(name -> name.startsWith("WEIR_"));
    script.environment().put("JAVA_HOME", root.resolve("jdk").toString());
    script.environment().putAll(variables);
    assertEquals(0, script.start().waitFor());
    return Files.readString(output).strip();
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

  /** It once built everything first. */
  @Test
  void version_isPrintedWithoutAJdk() throws Exception {
    Map<String, String> noJdk = Map.of("JAVA_HOME", root.resolve("none").toString());
    assertEquals("weir 0.1.0", run("--version", noJdk));
    assertEquals("weir 0.1.0", run("-V", noJdk));
  }
}
