// SPDX-License-Identifier: Apache-2.0
package io.weir.testing;

import java.nio.file.Files;
import java.nio.file.Path;

/** The checkout of the repository that contains the current folder. Thread-safe. */
public final class Checkout {
  private static final Path ROOT = find();

  private Checkout() {}

  /** Returns the absolute path of the checkout's root folder. */
  public static Path root() {
    return ROOT;
  }

  /**
   * Returns the absolute path of a file or folder in the checkout.
   *
   * @param path path relative to the root folder, with slashes
   */
  public static Path file(String path) {
    return ROOT.resolve(path);
  }

  private static Path find() {
    Path folder = Path.of("").toAbsolutePath();
    for (Path each = folder; each != null; each = each.getParent()) {
      if (Files.isRegularFile(each.resolve("docker-compose.yml"))) {
        return each;
      }
    }
    throw new IllegalStateException(
        "the current folder is not within a checkout of the " + "repository: " + folder);
  }
}
