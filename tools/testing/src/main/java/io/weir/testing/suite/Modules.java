// SPDX-License-Identifier: Apache-2.0
package io.weir.testing.suite;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Stream;

/** The modules of the repository and their test classes. */
final class Modules {
  private static final Path TESTS = Path.of("src", "test", "java");

  private final SortedMap<String, Path> folders = new TreeMap<>();

  /**
   * Finds the modules of a checkout. A module is a folder that contains a {@code pom.xml}, at the
   * first or second level of the checkout.
   */
  Modules(Path root) throws IOException {
    for (Path folder : subfolders(root)) {
      if (isModule(folder)) {
        folders.put(folder.getFileName().toString(), folder);
      } else {
        subfolders(folder).stream()
            .filter(Modules::isModule)
            .forEach(below -> folders.put(below.getFileName().toString(), below));
      }
    }
  }

  private static boolean isModule(Path folder) {
    return Files.isRegularFile(folder.resolve("pom.xml"));
  }

  private static List<Path> subfolders(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.filter(Files::isDirectory).toList();
    }
  }

  /** Returns the folder of each module. The keys are the names of the modules. */
  SortedMap<String, Path> folders() {
    return Collections.unmodifiableSortedMap(folders);
  }

  /**
   * Returns the module of each test class. The keys are the names of the classes. Surefire and
   * Failsafe run classes that end in {@code Test} or {@code IT}.
   */
  Map<String, String> testClasses() throws IOException {
    Map<String, String> classes = new TreeMap<>();
    for (Map.Entry<String, Path> module : folders.entrySet()) {
      Path tests = module.getValue().resolve(TESTS);
      for (Path file : javaFiles(tests)) {
        String name = file.getFileName().toString();
        if (name.endsWith("Test.java") || name.endsWith("IT.java")) {
          String path = tests.relativize(file).toString();
          classes.put(
              path.substring(0, path.length() - ".java".length())
                  .replace(file.getFileSystem().getSeparator(), "."),
              module.getKey());
        }
      }
    }
    return classes;
  }

  /** Returns the files below a folder, or an empty list if the folder does not exist. */
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
