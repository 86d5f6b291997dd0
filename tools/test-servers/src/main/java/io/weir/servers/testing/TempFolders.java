// SPDX-License-Identifier: Apache-2.0
package io.weir.servers.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/** Creates and deletes the temporary folders of test servers. */
final class TempFolders {
  private TempFolders() {}

  static Path create(String name) {
    try {
      return Files.createTempDirectory("weir-" + name + "-");
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  static void delete(Path folder) {
    try (Stream<Path> paths = Files.walk(folder)) {
      for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(path);
      }
    } catch (IOException failed) {
      throw new UncheckedIOException("could not remove " + folder, failed);
    }
  }
}
