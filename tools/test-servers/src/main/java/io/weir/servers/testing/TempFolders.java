// SPDX-License-Identifier: Apache-2.0
package io.weir.servers.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.stream.Stream;

/** Creates and deletes the temporary folders of test servers. */
final class TempFolders {
  private static final Duration TIMEOUT = Duration.ofSeconds(10);

  private TempFolders() {}

  static Path create(String name) {
    try {
      return Files.createTempDirectory("weir-" + name + "-");
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  /**
   * Deletes a folder. Repeats this while the stopped server still creates or deletes files in it,
   * for at most {@link #TIMEOUT}.
   */
  static void delete(Path folder) {
    long deadlineNanos = System.nanoTime() + TIMEOUT.toNanos();
    while (Files.exists(folder)) {
      try {
        deleteOnce(folder);
      } catch (DirectoryNotEmptyException | NoSuchFileException stillInUse) {
        if (System.nanoTime() - deadlineNanos > 0) {
          throw new UncheckedIOException("could not remove " + folder, stillInUse);
        }
      } catch (IOException failed) {
        throw new UncheckedIOException("could not remove " + folder, failed);
      }
    }
  }

  private static void deleteOnce(Path folder) throws IOException {
    try (Stream<Path> paths = Files.walk(folder)) {
      for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(path);
      }
    } catch (UncheckedIOException duringWalk) {
      throw duringWalk.getCause();
    }
  }
}
