// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.deploy;

import io.weir.testing.Checkout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

/** Files that an operator puts below {@code /etc}, put into a folder of a test. */
final class PlacedFiles {
  private PlacedFiles() {}

  /** Returns settings whose files are in a folder, where they are put. */
  static Map<String, String> of(Map<String, String> settings, Path folder) throws IOException {
    Files.copy(Checkout.file("deploy/policies.yml"), folder.resolve("policies.yml"));
    Files.writeString(folder.resolve("tokens.yml"), "tokens: []\n");
    Map<String, String> placed = new TreeMap<>(settings);
    placed.replaceAll((name, value) -> value.replaceFirst("^/etc/[a-z-]+/", folder + "/"));
    return placed;
  }
}
