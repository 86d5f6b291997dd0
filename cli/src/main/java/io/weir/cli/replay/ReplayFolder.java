// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/** The folder of the sorted rows of one run. It is deleted at the end, also after a signal. */
final class ReplayFolder implements AutoCloseable {
  private final Path folder;
  private final Thread removal;

  private ReplayFolder(Path folder) {
    this.folder = folder;
    this.removal = new Thread(() -> removeOrLeave(folder), "weir-replay-removal");
    Runtime.getRuntime().addShutdownHook(removal);
  }

  /** Creates the folder in the given folder. */
  static ReplayFolder create(Path parent) throws IOException {
    return new ReplayFolder(Files.createTempDirectory(parent, "weir-replay-"));
  }

  Path file(String name) {
    return folder.resolve(name);
  }

  @Override
  public void close() throws IOException {
    remove(folder);
    Runtime.getRuntime().removeShutdownHook(removal);
  }

  private static void remove(Path folder) throws IOException {
    try (Stream<Path> paths = Files.walk(folder)) {
      for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(path);
      }
    }
  }

  private static void removeOrLeave(Path folder) {
    try {
      remove(folder);
    } catch (IOException | UncheckedIOException failed) {
      System.err.println("weir: " + folder + " could not be removed: " + failed.getMessage());
    }
  }
}
