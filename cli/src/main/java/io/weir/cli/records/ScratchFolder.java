// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.records;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/**
 * The folder of the temporary files of one run. The folder is deleted at the end of the run, even
 * after a signal.
 */
public final class ScratchFolder implements AutoCloseable {
  private final Path folder;
  private final Thread removal;

  private ScratchFolder(Path folder) {
    this.folder = folder;
    this.removal = new Thread(() -> removeOrLeave(folder), "weir-scratch-removal");
    Runtime.getRuntime().addShutdownHook(removal);
  }

  /**
   * Creates a folder.
   *
   * @param parent the folder that will contain the new folder
   * @param command the name of the command, which becomes a part of the folder's name
   */
  public static ScratchFolder create(Path parent, String command) throws IOException {
    return new ScratchFolder(Files.createTempDirectory(parent, "weir-" + command + "-"));
  }

  /** Returns the path of a file or folder in this folder. */
  public Path file(String name) {
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

  /** Returns the path of the folder. */
  @Override
  public String toString() {
    return folder.toString();
  }
}
