// SPDX-License-Identifier: Apache-2.0
package io.weir.testing.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.testing.Checkout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Checks lists of modules and tests that are maintained by hand. */
final class HouseTest {
  private static final Path ROOT = Checkout.root();
  private static final Path MAIN = Path.of("src", "main", "java");
  private static final Path TESTS = Path.of("src", "test", "java");
  private static final List<String> PRODUCT =
      List.of("topics", "decision-cache", "ingest-api", "streams-aggregator", "cli");
  private static final Pattern OPENS_A_CLIENT =
      Pattern.compile("new Kafka(Producer|Consumer)<|Admin\\.create\\(|extends KafkaConsumer");
  private static final Pattern MODULE =
      Pattern.compile("<module>(?:clients/|tools/)?([a-z0-9-]+)</module>");

  @Test
  void pom_namesEveryModule() throws IOException {
    TreeSet<String> named = new TreeSet<>();
    Matcher module = MODULE.matcher(Files.readString(ROOT.resolve("pom.xml")));
    while (module.find()) {
      named.add(module.group(1));
    }

    assertEquals(named, new Modules(ROOT).folders().keySet());
  }

  @Test
  void checks_readEveryModule() throws IOException {
    String checks = Files.readString(ROOT.resolve("tools/checks/pom.xml"));
    for (Path module : new Modules(ROOT).folders().values()) {
      for (Path sources : List.of(MAIN, TESTS)) {
        Path folder = module.resolve(sources);
        boolean has = Files.isDirectory(folder);
        String root = "/../../" + ROOT.relativize(folder).toString().replace('\\', '/') + "<";
        assertEquals(has, checks.contains(root), root);
      }
    }
  }

  @Test
  void everyTestClass_isTakenBySurefireOrFailsafe() throws IOException {
    Map<String, String> taken = new Modules(ROOT).testClasses();
    assertTrue(taken.containsKey(HouseTest.class.getName()));
    for (Path file : testSources()) {
      String name = file.getFileName().toString().replace(".java", "");
      boolean hasTests = Files.readString(file).lines().anyMatch(HouseTest::isTest);
      boolean isTaken = name.endsWith("Test") || name.endsWith("IT") || name.endsWith("Contract");
      assertFalse(hasTests && !isTaken, () -> file + " has tests that nothing runs");
    }
  }

  /** Else a client would come without the operator's credentials. */
  @Test
  void kafkaClients_areOpenedByTheirConnection() throws IOException {
    Set<String> opening = new TreeSet<>();
    for (String module : PRODUCT) {
      try (Stream<Path> files = Files.walk(ROOT.resolve(module).resolve(MAIN))) {
        for (Path file : files.filter(Files::isRegularFile).toList()) {
          if (OPENS_A_CLIENT.matcher(Files.readString(file)).find()) {
            opening.add(file.getFileName().toString().replace(".java", ""));
          }
        }
      }
    }

    // the others take the properties that Streams derives from those of the connection
    assertEquals(
        Set.of("KafkaConnection", "CallsTopicLog", "CountClients", "WithholdingConsumer"), opening);
  }

  private static boolean isTest(String line) {
    return line.strip().matches("@(Test|ParameterizedTest|RepeatedTest|TestFactory)\\b.*");
  }

  @Test
  void script_listsTheModulesTheCliDependsOn() throws IOException {
    TreeSet<String> needed = new TreeSet<>();
    addNeeded("cli", needed);
    Matcher named =
        Pattern.compile("cli\\) printf '([a-z -]+)'")
            .matcher(Files.readString(ROOT.resolve("weir")));

    assertTrue(named.find());
    assertEquals(needed, new TreeSet<>(List.of(named.group(1).split(" ", -1))));
  }

  private static void addNeeded(String module, Set<String> needed) throws IOException {
    if (!needed.add(module)) {
      return;
    }
    Path folder = Objects.requireNonNull(new Modules(ROOT).folders().get(module), module);
    String pom = Files.readString(folder.resolve("pom.xml"));
    String dependencies = pom.substring(pom.indexOf("<dependencies>"));
    Matcher own =
        Pattern.compile(
                "<groupId>io.weir</groupId>\\s*<artifactId>([a-z-]+)</artifactId>\\s*</dependency>")
            .matcher(dependencies);
    while (own.find()) {
      addNeeded(own.group(1), needed);
    }
  }

  private static List<Path> testSources() throws IOException {
    List<Path> sources = new ArrayList<>();
    for (Path module : new Modules(ROOT).folders().values()) {
      sources.addAll(Modules.javaFiles(module.resolve(TESTS)));
    }
    return sources;
  }
}
