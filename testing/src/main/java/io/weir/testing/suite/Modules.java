// SPDX-License-Identifier: Apache-2.0
package io.weir.testing.suite;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/** The modules of the repository and their test classes, as found in its folders. */
final class Modules {
  private static final Path TESTS = Path.of("src", "test", "java");

  private final Path root;
  private final List<String> names;

  /** Finds the modules below a root: the folders that have a {@code pom.xml}. */
  Modules(Path root) throws IOException {
    this.root = root;
    try (Stream<Path> folders = Files.list(root)) {
      this.names =
          folders
              .filter(folder -> Files.isRegularFile(folder.resolve("pom.xml")))
              .map(folder -> folder.getFileName().toString())
              .sorted()
              .toList();
    }
  }

  /** Returns the names of the modules' folders. */
  List<String> names() {
    return names;
  }

  /** Returns every class that Surefire or Failsafe takes for a test, with its module. */
  Map<String, String> testClasses() throws IOException {
    Map<String, String> classes = new TreeMap<>();
    for (String module : names) {
      Path tests = root.resolve(module).resolve(TESTS);
      for (Path file : javaFiles(tests)) {
        String name = file.getFileName().toString();
        if (name.endsWith("Test.java") || name.endsWith("IT.java")) {
          String path = tests.relativize(file).toString();
          classes.put(
              path.substring(0, path.length() - ".java".length())
                  .replace(file.getFileSystem().getSeparator(), "."),
              module);
        }
      }
    }
    return classes;
  }

  /** Returns the Java files below a folder, which need not exist. */
  static List<Path> javaFiles(Path folder) throws IOException {
    if (!Files.isDirectory(folder)) {
      return List.of();
    }
    List<Path> found = new ArrayList<>();
    try (Stream<Path> files = Files.walk(folder)) {
      files.filter(Files::isRegularFile).sorted().forEach(found::add);
    }
    return found;
  }
}
